package dev.holdfast.lock.jdbc.internal.sql;

import java.util.regex.Pattern;

/** A table's name, with or without its schema's, that is safe to write into a statement. */
public record TableName(String text) {
    private static final Pattern VALID =
            Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}(?:\\.[A-Za-z_][A-Za-z0-9_]{0,62})?");

    public TableName {
        if (!VALID.matcher(text).matches()) {
            throw new IllegalArgumentException("lock table '" + text.replaceAll("[^ -~]", "?")
                    + "' is not an acceptable name; use a letter or _, then at most 62 letters, digits and _,"
                    + " and the same with a dot before it for the schema");
        }
    }

    /** The name without the schema's. */
    public String local() {
        return text.substring(text.indexOf('.') + 1);
    }

    /** The name of the sequence that a strategy without lasting rows draws from. */
    public String sequence() {
        return text + "_token";
    }

    @Override
    public String toString() {
        return text;
    }
}
