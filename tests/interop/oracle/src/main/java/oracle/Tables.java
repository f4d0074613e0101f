package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.*;
import java.io.IOException;
import java.time.Duration;
import java.util.*;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.fs.*;
import org.apache.paimon.options.*;
import org.apache.paimon.predicate.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.*;

/**
 * Whole tables, by their folder.
 *
 * <pre>
 * {"cmd":"plan", "path", "options", "where":[{"column", "op", "literals"}, ...]}    all of them hold
 *     -> {"files":[names], "rows": matching rows read, "read": rows that reading gave before they were filtered}
 * {"cmd":"scan", "path", "options", "where", "seconds"}    plans and reads again and again
 *     -> {"rows": matching rows, "nanos": the median of one plan and read}
 * {"cmd":"expire", "path"}    every snapshot but the last expires -> {"expired": number}
 * </pre>
 */
final class Tables {
    static FileStoreTable open(JsonNode q) {
        Path path = new Path(q.get("path").asText());
        Map<String, String> dynamic = new HashMap<>();
        if (q.has("options")) {
            q.get("options").fields().forEachRemaining(e -> dynamic.put(e.getKey(), e.getValue().asText()));
        }
        FileStoreTable table = FileStoreTableFactory.create(
                org.apache.paimon.fs.local.LocalFileIO.create(), path);
        return table.copy(dynamic);
    }

    static ReadBuilder ask(FileStoreTable table, JsonNode q) throws IOException {
        ReadBuilder builder = table.newReadBuilder();
        RowType row = table.rowType();
        List<Predicate> leaves = new ArrayList<>();
        for (JsonNode leaf : q.get("where")) {
            int at = row.getFieldIndex(leaf.get("column").asText());
            DataType type = row.getTypeAt(at);
            List<Object> literals = new ArrayList<>();
            for (JsonNode l : leaf.get("literals")) literals.add(Vals.fromJson(type, l));
            leaves.add(new LeafPredicate(LeafFunction.fromJson(leaf.get("op").asText()), type, at,
                    row.getFieldNames().get(at), literals));
        }
        return leaves.isEmpty() ? builder : builder.withFilter(PredicateBuilder.and(leaves));
    }

    static void scan(JsonNode q, ObjectNode answer) throws Exception {
        FileStoreTable table = open(q);
        List<Long> times = new ArrayList<>();
        long end = System.nanoTime() + (long) (q.get("seconds").asDouble() * 1e9), rows = 0;
        while (System.nanoTime() < end || times.size() < 3) {
            long start = System.nanoTime();
            ReadBuilder builder = ask(table, q);
            rows = count(builder.newRead().executeFilter(), builder.newScan().plan().splits());
            times.add(System.nanoTime() - start);
        }
        Collections.sort(times);
        answer.put("rows", rows).put("nanos", times.get(times.size() / 2));
    }

    static void plan(JsonNode q, ObjectNode answer) throws Exception {
        ReadBuilder builder = ask(open(q), q);
        List<Split> splits = builder.newScan().plan().splits();
        ArrayNode files = answer.putArray("files");
        for (Split split : splits) {
            ((DataSplit) split).dataFiles().forEach(f -> files.add(f.fileName()));
        }
        answer.put("read", count(builder.newRead(), splits));
        answer.put("rows", count(builder.newRead().executeFilter(), splits));
    }

    static long count(TableRead read, List<Split> splits) throws Exception {
        long[] rows = {0};
        read.createReader(splits).forEachRemaining(row -> rows[0]++);
        return rows[0];
    }

    static void expire(JsonNode q, ObjectNode answer) {
        ExpireSnapshots expire = open(q).newExpireSnapshots();
        expire.config(ExpireConfig.builder().snapshotRetainMax(1).snapshotRetainMin(1)
                .snapshotTimeRetain(Duration.ofMillis(1)).build());
        answer.put("expired", expire.expire());
    }
}
