# make test   everything, on a fresh machine: environment, build, tests
# make demo   the Spark job and the command on real tables, every answer checked
# make dist   sdist and wheel, built from each other and looked into
# make build  the extension in place, for work on it (needs Cython and setuptools in PYTHON)
PYTHON ?= python3
VENV ?= .venv
EXTRAS = arrow,paimon,native,spark,cli,test
# for another Spark than the newest: make test VENV=.venv-35 PINS='pyspark==3.5.*'
PINS ?=
# for a part of the tests: make test ARGS='-k orders'
ARGS ?=
ENVIRONMENT = $(PYTHON) .ci/environment.py $(VENV) $(EXTRAS) $(foreach pin,$(PINS),--pin '$(pin)') --java
.PHONY: test demo dist build clean

# Tests run from an empty folder, so that neither pytest nor a Spark worker (which puts its working directory first on
# the path) imports the sources of the checkout instead of the installed package; tests/test_packaging.py watches it.
test:
	@$(ENVIRONMENT)
	@mkdir -p $(VENV)/run
	@cd $(VENV)/run && PAIMON_FIDX_INSTALLED=1 $(abspath $(VENV))/bin/pytest -c $(CURDIR)/pyproject.toml \
		--rootdir $(CURDIR) -q $(CURDIR)/tests $(ARGS)

demo:
	@$(ENVIRONMENT)
	@mkdir -p demo-out
	@cd demo-out && $(abspath $(VENV))/bin/python $(CURDIR)/examples/demo.py

dist:
	@$(ENVIRONMENT)
	@$(VENV)/bin/python .ci/check_dist.py dist

build:
	$(PYTHON) setup.py build_ext --inplace

clean:
	rm -rf .venv .venv-* build dist demo-out *.egg-info
	find paimon_fidx -name '*.so' -delete -o -name '__pycache__' -prune -exec rm -rf {} +
