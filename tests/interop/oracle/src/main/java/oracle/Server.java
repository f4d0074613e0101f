package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.paimon.fileindex.*;
import org.apache.paimon.fileindex.bitmap.BitmapIndexResult;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.*;
import org.apache.paimon.types.*;

/**
 * Java Paimon as a server on stdin and stdout: one JSON request per line in, one JSON answer per line out.
 *
 * <pre>
 * {"cmd":"write", "index", "type", "options", "values"}        -> {"base64"} the body, or {"error"}
 * {"cmd":"ask", "columns", "base64", "questions":[{"column", "op", "literals"}]}
 *                                                              -> {"answers":[...]} of a whole index file
 * {"cmd":"load", ...} {"cmd":"time", ...}                      -> see {@link Bench}
 * {"cmd":"plan" | "expire", ...}                       -> see {@link Tables}
 * {"cmd":"files" | "question" | "answer" | "evaluate", ...}    -> see {@link Questions}
 * </pre>
 *
 * <p>An answer is "REMAIN", "SKIP", the runs of the selected rows [[start, length], ...], or {"error"}.
 */
public final class Server {
    static final JsonNodeFactory F = JsonNodeFactory.instance;

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer = F.objectNode();
            try {
                JsonNode q = Vals.M.readTree(line);
                switch (q.get("cmd").asText()) {
                    case "write": answer.put("base64", Base64.getEncoder().encodeToString(write(q))); break;
                    case "ask": answer.set("answers", ask(q)); break;
                    case "load": Bench.load(q); break;
                    case "time": answer.put("nanos", Bench.time(q)); break;
                    case "files": Questions.files(q); break;
                    case "question": Questions.question(q); break;
                    case "answer": Questions.answer(q, answer); break;
                    case "plan": Tables.plan(q, answer); break;
                    case "scan": Tables.scan(q, answer); break;
                    case "expire": Tables.expire(q, answer); break;
                    case "evaluate": answer.put("nanos", Questions.evaluate(q)); break;
                    default: throw new IllegalArgumentException("unknown cmd in " + line);
                }
            } catch (Throwable e) {
                answer.put("error", e.toString());
            }
            out.println(Vals.M.writeValueAsString(answer));
        }
    }

    static byte[] write(JsonNode q) {
        DataType type = Vals.type(q.get("type").asText());
        Map<String, String> options = new LinkedHashMap<>();
        if (q.has("options")) {
            q.get("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
        }
        FileIndexWriter writer = FileIndexer.create(q.get("index").asText(), type, new Options(options)).createWriter();
        for (JsonNode v : q.get("values")) writer.writeRecord(Vals.fromJson(type, v));
        return writer.serializedBytes();
    }

    static ArrayNode ask(JsonNode q) throws IOException {
        List<DataField> fields = new ArrayList<>();
        Map<String, DataField> byName = new HashMap<>();
        for (JsonNode c : q.get("columns")) {
            DataField f = new DataField(fields.size(), c.get("name").asText(), Vals.type(c.get("type").asText()));
            fields.add(f);
            byName.put(f.name(), f);
        }
        RowType row = new RowType(fields);
        byte[] file = Base64.getDecoder().decode(q.get("base64").asText());
        ArrayNode answers = F.arrayNode();
        for (JsonNode question : q.get("questions")) {
            try (FileIndexPredicate index = new FileIndexPredicate(file, row)) {
                String column = question.get("column").asText();
                DataType type = byName.containsKey(column)
                        ? byName.get(column).type()
                        : FileIndexCommon.getFieldType(byName, column);
                List<Object> literals = new ArrayList<>();
                for (JsonNode l : question.get("literals")) literals.add(Vals.fromJson(type, l));
                Predicate leaf = new LeafPredicate(
                        LeafFunction.fromJson(question.get("op").asText()), type, Math.max(row.getFieldIndex(column), 0),
                        column, literals);
                answers.add(encode(index.evaluate(leaf)));
            } catch (Throwable e) {
                answers.add(F.objectNode().put("error", e.toString()));
            }
        }
        return answers;
    }

    static JsonNode encode(FileIndexResult result) {
        if (!result.remain()) return F.textNode("SKIP");
        if (!(result instanceof BitmapIndexResult)) return F.textNode("REMAIN");
        ArrayNode runs = F.arrayNode();
        int start = -1, next = -1;
        for (Iterator<Integer> rows = ((BitmapIndexResult) result).get().iterator(); rows.hasNext(); ) {
            int row = rows.next();
            if (row != next) {
                if (next >= 0) runs.add(F.arrayNode().add(start).add(next - start));
                start = row;
            }
            next = row + 1;
        }
        if (next >= 0) runs.add(F.arrayNode().add(start).add(next - start));
        return runs;
    }
}
