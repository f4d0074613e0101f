package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.apache.paimon.fileindex.*;
import org.apache.paimon.fileindex.bitmap.BitmapIndexResult;
import org.apache.paimon.fs.ByteArraySeekableStream;
import org.apache.paimon.predicate.*;
import org.apache.paimon.types.*;
import org.apache.paimon.utils.RoaringBitmap32;

/**
 * Times Java's evaluation for bench/evaluate.py.
 *
 * <pre>
 * {"cmd":"files", "name", "columns", "file", "lengths"}   index files, one after the other in a file
 * {"cmd":"question", "name", "files", "predicate", "top", "deleted"}
 *        predicate   {"column", "op", "literals"} or {"and": [...]} or {"or": [...]}, may be absent
 *        top         {"column", "n"}: the n largest values, NULLs last; may be absent
 *        deleted     base64 of the deleted rows, a serialized Roaring bitmap; may be absent
 * {"cmd":"answer", "name", "open"}                -> {"decision", "rows": base64} of the last file, {"remain": files}
 * {"cmd":"evaluate", "name", "open", "seconds"}   -> {"nanos"}: the median over that long of asking all the files
 * </pre>
 *
 * <p>"open": false goes through FileIndexPredicate from the bytes of the whole file, true asks readers that are there.
 */
final class Questions {
    private static final Map<String, IndexFiles> FILES = new HashMap<>();
    private static final Map<String, Question> QUESTIONS = new HashMap<>();
    private static volatile Object sink;

    private static final class IndexFiles {
        RowType type;
        List<byte[]> each = new ArrayList<>();
    }

    private static final class Question {
        IndexFiles files;
        Predicate predicate;
        TopN top;
        RoaringBitmap32 deleted;
        Map<String, Set<FileIndexReader>> readers = new HashMap<>();

        FileIndexResult fromBytes(byte[] file) throws IOException {
            try (FileIndexPredicate index = new FileIndexPredicate(file, files.type)) {
                return finish(top == null
                        ? index.evaluate(predicate)
                        : index.evaluateTopN(top, index.evaluate(predicate)));
            }
        }

        FileIndexResult fromReaders() {
            FileIndexResult result = predicate == null ? FileIndexResult.REMAIN : ask(predicate);
            if (top != null && result.remain()) {
                for (FileIndexReader reader : readers.get(top.orders().get(0).field().name())) {
                    result = reader.visitTopN(top, result);
                }
            }
            return finish(result);
        }

        private FileIndexResult ask(Predicate node) {
            FileIndexResult result = null;
            if (node instanceof LeafPredicate) {
                LeafPredicate leaf = (LeafPredicate) node;
                FieldRef field = leaf.fieldRefOptional().get();
                for (FileIndexReader reader : readers.get(field.name())) {
                    FileIndexResult one = leaf.function().visit(reader, field, leaf.literals());
                    result = result == null ? one : result.and(one);
                }
                return result;
            }
            boolean or = ((CompoundPredicate) node).function() instanceof Or;
            for (Predicate child : ((CompoundPredicate) node).children()) {
                FileIndexResult one = ask(child);
                result = result == null ? one : or ? result.or(one) : result.and(one);
            }
            return result;
        }

        /** The results are lazy: only asking for the rows computes them. */
        private FileIndexResult finish(FileIndexResult result) {
            if (result instanceof BitmapIndexResult) {
                if (deleted != null) result = ((BitmapIndexResult) result).andNot(deleted);
                ((BitmapIndexResult) result).get();
            }
            return result;
        }
    }

    static void files(JsonNode q) throws IOException {
        IndexFiles files = new IndexFiles();
        List<DataField> fields = new ArrayList<>();
        for (JsonNode c : q.get("columns")) {
            fields.add(new DataField(fields.size(), c.get("name").asText(), Vals.type(c.get("type").asText())));
        }
        files.type = new RowType(fields);
        byte[] all = Files.readAllBytes(Paths.get(q.get("file").asText()));
        int at = 0;
        for (JsonNode length : q.get("lengths")) {
            files.each.add(Arrays.copyOfRange(all, at, at + length.asInt()));
            at += length.asInt();
        }
        FILES.put(q.get("name").asText(), files);
    }

    static void question(JsonNode q) throws IOException {
        Question question = new Question();
        question.files = FILES.get(q.get("files").asText());
        RowType type = question.files.type;
        if (q.hasNonNull("predicate")) question.predicate = predicate(q.get("predicate"), type);
        if (q.hasNonNull("top")) {
            question.top = new TopN(
                    field(q.get("top").get("column").asText(), type), SortValue.SortDirection.DESCENDING,
                    SortValue.NullOrdering.NULLS_LAST, q.get("top").get("n").asInt());
        }
        if (q.hasNonNull("deleted")) {
            question.deleted = new RoaringBitmap32();
            question.deleted.deserialize(ByteBuffer.wrap(Base64.getDecoder().decode(q.get("deleted").asText())));
        }
        if (question.files.each.size() == 1) {
            FileIndexFormat.Reader reader = FileIndexFormat.createReader(
                    new ByteArraySeekableStream(question.files.each.get(0)), type);
            for (String name : type.getFieldNames()) question.readers.put(name, reader.readColumnIndex(name));
        }
        QUESTIONS.put(q.get("name").asText(), question);
    }

    private static FieldRef field(String name, RowType type) {
        return new FieldRef(type.getFieldIndex(name), name, type.getField(name).type());
    }

    private static Predicate predicate(JsonNode node, RowType type) throws IOException {
        if (node.has("column")) {
            FieldRef field = field(node.get("column").asText(), type);
            List<Object> literals = new ArrayList<>();
            for (JsonNode literal : node.get("literals")) literals.add(Vals.fromJson(field.type(), literal));
            return new LeafPredicate(
                    LeafFunction.fromJson(node.get("op").asText()), field.type(), field.index(), field.name(), literals);
        }
        List<Predicate> children = new ArrayList<>();
        for (JsonNode child : node.get(node.has("and") ? "and" : "or")) children.add(predicate(child, type));
        return node.has("and") ? PredicateBuilder.and(children) : PredicateBuilder.or(children);
    }

    static void answer(JsonNode q, ObjectNode to) throws IOException {
        Question question = QUESTIONS.get(q.get("name").asText());
        FileIndexResult result = null;
        int remain = 0;
        for (byte[] file : question.files.each) {
            result = q.get("open").asBoolean() ? question.fromReaders() : question.fromBytes(file);
            if (result.remain()) remain++;
        }
        to.put("remain", remain);
        if (!result.remain()) {
            to.put("decision", "SKIP");
        } else if (result instanceof BitmapIndexResult) {
            to.put("decision", "ROWS");
            to.put("rows", Base64.getEncoder().encodeToString(((BitmapIndexResult) result).get().serialize()));
        } else {
            to.put("decision", "REMAIN");
        }
    }

    static long evaluate(JsonNode q) throws IOException {
        Question question = QUESTIONS.get(q.get("name").asText());
        boolean open = q.get("open").asBoolean();
        List<Long> times = new ArrayList<>();
        long end = System.nanoTime() + (long) (1e9 * q.get("seconds").asDouble());
        do {
            long start = System.nanoTime();
            for (byte[] file : question.files.each) sink = open ? question.fromReaders() : question.fromBytes(file);
            times.add(System.nanoTime() - start);
        } while (System.nanoTime() < end);
        Collections.sort(times);
        return times.get(times.size() / 2);
    }
}
