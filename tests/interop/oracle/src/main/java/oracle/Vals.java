package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.*;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.types.*;

/** JSON <-> Paimon internal values, SQL type strings -> Paimon types. */
final class Vals {
    static final ObjectMapper M = new ObjectMapper();

    static DataType type(String s) {
        String u = s.trim();
        String up = u.toUpperCase(Locale.ROOT);
        if (up.startsWith("MAP<")) {
            List<String> p = split(inner(u));
            return DataTypes.MAP(type(p.get(0)), type(p.get(1)));
        }
        if (up.startsWith("ARRAY<")) return DataTypes.ARRAY(type(inner(u)));
        if (up.startsWith("MULTISET<")) return DataTypes.MULTISET(type(inner(u)));
        if (up.startsWith("VECTOR<")) {
            List<String> p = split(inner(u));
            return new VectorType(Integer.parseInt(p.get(1).trim()), type(p.get(0)));
        }
        if (up.startsWith("ROW<")) {
            List<DataField> fs = new ArrayList<>();
            int i = 0;
            for (String p : split(inner(u))) {
                int sp = p.trim().indexOf(' ');
                fs.add(new DataField(i++, p.trim().substring(0, sp), type(p.trim().substring(sp + 1))));
            }
            return new RowType(fs);
        }
        return DataTypeJsonParser.parseAtomicTypeSQLString(u);
    }

    private static String inner(String s) {
        return s.substring(s.indexOf('<') + 1, s.lastIndexOf('>'));
    }

    private static List<String> split(String s) {
        List<String> r = new ArrayList<>();
        int d = 0, b = 0;
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '<' || c == '(') d++;
            if (c == '>' || c == ')') d--;
            if (c == ',' && d == 0) {
                r.add(s.substring(b, i));
                b = i + 1;
            }
        }
        r.add(s.substring(b));
        return r;
    }

    static Object fromJson(DataType t, JsonNode n) {
        if (n == null || n.isNull()) return null;
        switch (t.getTypeRoot()) {
            case BOOLEAN: return n.asBoolean();
            case TINYINT: return (byte) Integer.parseInt(n.asText());
            case SMALLINT: return (short) Integer.parseInt(n.asText());
            case INTEGER:
            case DATE:
            case TIME_WITHOUT_TIME_ZONE: return Integer.parseInt(n.asText());
            case BIGINT: return Long.parseLong(n.asText());
            case FLOAT: return (float) Double.parseDouble(n.asText());
            case DOUBLE: return Double.parseDouble(n.asText());
            case DECIMAL: {
                DecimalType d = (DecimalType) t;
                return Decimal.fromBigDecimal(new BigDecimal(n.asText()), d.getPrecision(), d.getScale());
            }
            case CHAR:
            case VARCHAR: return BinaryString.fromString(n.asText());
            case BINARY:
            case VARBINARY: return unhex(n.asText());
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromEpochMillis(n.get("millis").asLong(), n.get("nanosOfMilli").asInt());
            default: throw new IllegalArgumentException("no literals for " + t.asSQLString());
        }
    }

    static byte[] unhex(String s) {
        return HexFormat.of().parseHex(s);
    }
}
