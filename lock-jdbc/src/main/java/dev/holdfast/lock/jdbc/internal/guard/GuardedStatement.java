package dev.holdfast.lock.jdbc.internal.guard;

import dev.holdfast.lock.jdbc.internal.guard.SqlTokens.Token;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An UPDATE or DELETE of one table that every row must pass with {@code column <= :token}, and that writes the token there.
 * Immutable.
 *
 * <p>Whatever is not understood is refused: a statement that only seems to compare the token lets a stale holder write.
 *
 * @param text with {@code ?} for all parameters
 * @param kinds the parameters in their order: {@code p} for a value, {@code t} for the token
 * @param table as in the statement
 * @param alias of the table, or empty
 * @param column that keeps the token, as in the statement
 * @param condition what follows WHERE, with {@code ?} for all parameters
 * @param conditionAt the number of parameters before the condition
 * @param conditionKinds the parameters of the condition, like {@code kinds}
 * @param update whether it is an UPDATE
 */
public record GuardedStatement(
        String text,
        String kinds,
        String table,
        String alias,
        String column,
        String condition,
        int conditionAt,
        String conditionKinds,
        boolean update) {
    private static final Set<String> END = Set.of("RETURNING", "ORDER", "LIMIT");

    /** Reads a statement with {@code :token}; throws an IllegalArgumentException that says what is wrong and what to do. */
    public static GuardedStatement of(String sql) {
        try {
            return new Parser(sql).parse();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("guarded statement " + e.getMessage() + ": " + sql);
        }
    }

    private static final class Parser {
        private static final String NO_CONDITION =
                "has no condition '<= :token' after WHERE; add it, so that a stale token is refused";

        private final String sql;
        private final List<Token> tokens;
        private String table = "";
        private String alias = "";

        Parser(String sql) {
            this.sql = sql;
            try {
                tokens = SqlTokens.of(sql);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("cannot be checked: " + e.getMessage(), e);
            }
        }

        GuardedStatement parse() {
            boolean update = !tokens.isEmpty() && tokens.get(0).is("UPDATE");
            boolean delete = tokens.size() > 1
                    && tokens.get(0).is("DELETE")
                    && tokens.get(1).is("FROM");
            if (tokens.stream().anyMatch(token -> token.is(";"))) {
                throw new IllegalArgumentException("has a semicolon; write one statement without it");
            }
            if (!update && !delete) {
                throw new IllegalArgumentException("is neither UPDATE nor DELETE FROM; write one of them");
            }
            int where = top("WHERE", 0);
            if (where < 0) {
                throw new IllegalArgumentException(NO_CONDITION);
            }
            int after = readTable(update ? 1 : 2, where);
            int end = where + 1;
            while (end < tokens.size()
                    && !(tokens.get(end).depth() == 0
                            && END.contains(tokens.get(end).text().toUpperCase(Locale.ROOT)))) {
                end++;
            }
            if (tokens.subList(end, tokens.size()).stream().anyMatch(Parser::isAlternative)) {
                throw new IllegalArgumentException(NO_CONDITION);
            }
            String column = guard(tokens.subList(where + 1, end));
            if (column == null) {
                throw new IllegalArgumentException(NO_CONDITION);
            }
            if (update) {
                requireWritten(column, after, where);
            }
            return statement(column, where, end, update);
        }

        private int top(String keyword, int from) {
            for (int i = from; i < tokens.size(); i++) {
                if (tokens.get(i).depth() == 0 && tokens.get(i).is(keyword)) {
                    return i;
                }
            }
            return -1;
        }

        /** Reads name and alias; returns the index of what follows. */
        private int readTable(int from, int where) {
            int next = from;
            if (tokens.get(next).is("ONLY")) {
                next++;
            }
            int start = next;
            while (next + 1 < where && tokens.get(next + 1).is(".")) {
                next += 2;
            }
            if (!tokens.get(next).isName()) {
                throw new IllegalArgumentException(
                        "does not name its table right after the verb; write one table there");
            }
            table = sql.substring(tokens.get(start).start(), tokens.get(next).end());
            alias = tokens.get(next).name();
            next++;
            if (tokens.get(next).is("AS")) {
                next++;
            }
            if (next < where
                    && tokens.get(next).isName()
                    && !tokens.get(next).is("SET")
                    && !tokens.get(next).is("USING")) {
                alias = tokens.get(next).name();
                next++;
            }
            if (!tokens.get(next).is("SET") && !tokens.get(next).is("USING") && next != where) {
                throw new IllegalArgumentException("changes several tables, or is not understood; write one table");
            }
            return next;
        }

        /** The column of the condition that every row must meet, or null. */
        private @Nullable String guard(List<Token> condition) {
            List<Token> inner = condition;
            while (isEnclosed(inner)) {
                inner = inner.subList(1, inner.size() - 1);
            }
            List<List<Token>> parts = new ArrayList<>();
            int depth = inner.isEmpty() ? 0 : inner.get(0).depth();
            int start = 0;
            boolean between = false;
            for (int i = 0; i < inner.size(); i++) {
                Token token = inner.get(i);
                if (token.depth() != depth) {
                    continue;
                }
                if (isAlternative(token)) {
                    return null; // a row may pass without the token
                }
                if (token.is("BETWEEN")) {
                    between = true;
                } else if (token.is("AND") && between) {
                    between = false;
                } else if (token.is("AND")) {
                    parts.add(inner.subList(start, i));
                    start = i + 1;
                }
            }
            if (parts.isEmpty()) {
                return comparedColumn(inner);
            }
            parts.add(inner.subList(start, inner.size()));
            for (List<Token> part : parts) {
                String column = isEnclosed(part) ? guard(part) : comparedColumn(part);
                if (column != null) {
                    return column;
                }
            }
            return null;
        }

        private static boolean isAlternative(Token token) {
            return token.is("OR") || token.is("XOR") || token.is("||");
        }

        private static boolean isEnclosed(List<Token> part) {
            if (part.size() < 2
                    || !part.get(0).is("(")
                    || !part.get(part.size() - 1).is(")")) {
                return false;
            }
            int depth = part.get(0).depth();
            return part.subList(1, part.size() - 1).stream().allMatch(token -> token.depth() > depth);
        }

        /** Of {@code column <= :token} or {@code :token >= column}; the column may bear the table's name. */
        private @Nullable String comparedColumn(List<Token> part) {
            int size = part.size();
            if (size >= 3
                    && part.get(size - 1).isFencingToken()
                    && part.get(size - 2).is("<=")) {
                return column(part.subList(0, size - 2));
            }
            if (size >= 3 && part.get(0).isFencingToken() && part.get(1).is(">=")) {
                return column(part.subList(2, size));
            }
            return null;
        }

        private @Nullable String column(List<Token> name) {
            Token last = name.get(name.size() - 1);
            boolean own = name.size() == 3
                    && name.get(1).is(".")
                    && name.get(0).name().equals(alias);
            return last.isName() && (name.size() == 1 || own) ? last.text() : null;
        }

        private void requireWritten(String column, int set, int where) {
            int end = set + 1;
            while (end < where
                    && !(tokens.get(end).depth() == 0 && tokens.get(end).is("FROM"))) {
                end++;
            }
            String name = column.replaceAll("[\"`]", "");
            boolean written = false;
            int start = set + 1;
            for (int i = start; i <= end; i++) {
                if (i < end && !(tokens.get(i).depth() == 0 && tokens.get(i).is(","))) {
                    continue;
                }
                List<Token> assignment = tokens.subList(start, i);
                start = i + 1;
                int size = assignment.size();
                String target = size < 3
                        ? null
                        : column(assignment.subList(0, assignment.get(1).is(".") ? 3 : 1));
                if (target != null && target.replaceAll("[\"`]", "").equalsIgnoreCase(name)) {
                    written = assignment.get(size - 1).isFencingToken()
                            && assignment.get(size - 2).is("=")
                            && size == (assignment.get(1).is(".") ? 5 : 3);
                    if (!written) {
                        break;
                    }
                }
            }
            if (!written) {
                throw new IllegalArgumentException(
                        "does not write '" + column + " = :token' after SET; add it, so that the row has the token");
            }
        }

        private GuardedStatement statement(String column, int where, int end, boolean update) {
            StringBuilder text = new StringBuilder();
            StringBuilder kinds = new StringBuilder();
            int copied = 0;
            int conditionAt = 0;
            int conditionStart = 0;
            int conditionEnd = -1;
            int conditionTo = -1;
            for (int i = 0; i < tokens.size(); i++) {
                Token token = tokens.get(i);
                if (i == end) {
                    conditionEnd = text.length() + token.start() - copied;
                    conditionTo = kinds.length();
                }
                if (token.isValue() || token.isFencingToken()) {
                    text.append(sql, copied, token.start()).append('?');
                    copied = token.end();
                    kinds.append(token.isValue() ? 'p' : 't');
                }
                if (i == where) {
                    conditionAt = kinds.length();
                    conditionStart = text.length() + token.end() - copied;
                }
            }
            text.append(sql, copied, sql.length());
            String condition = text.substring(conditionStart, conditionEnd < 0 ? text.length() : conditionEnd);
            String conditionKinds = kinds.substring(conditionAt, conditionTo < 0 ? kinds.length() : conditionTo);
            return new GuardedStatement(
                    text.toString(),
                    kinds.toString(),
                    table,
                    alias,
                    column,
                    condition,
                    conditionAt,
                    conditionKinds,
                    update);
        }
    }
}
