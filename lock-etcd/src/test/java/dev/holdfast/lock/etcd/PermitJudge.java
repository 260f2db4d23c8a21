package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.Grant;
import java.util.ArrayList;
import java.util.List;

/** Whether a grant of permits may exist with, and after, others. */
final class PermitJudge {
    private PermitJudge() {}

    /**
     * A grant.
     *
     * @param since when the request was executed that it rests on
     */
    record Held(Grant grant, long since) {
        Demand.Permits asked() {
            return (Demand.Permits) grant.demand();
        }

        boolean hasSlotOf(Held other) {
            return other.grant().slot() == grant.slot();
        }
    }

    /**
     * Returns the violation.
     *
     * @param now the new grant
     * @param present all present grants, including the new one
     * @param all all grants so far in their order, including the new one
     * @param limit the highest so far
     */
    static List<String> judge(Held now, List<Held> present, List<Held> all, int limit) {
        List<String> wrong = new ArrayList<>();
        String whose =
                "token " + now.grant().token() + " in slot " + now.grant().slot();
        if (present.stream().filter(now::hasSlotOf).count() != 1) {
            wrong.add("slot twice: " + whose);
        }
        if (present.stream().mapToInt(held -> held.asked().permits()).sum() > limit) {
            wrong.add("more permits than " + limit + ": " + whose);
        }
        if (now.grant().slot() < 1 || now.grant().slot() > now.asked().limit()) {
            wrong.add("no slot of " + now.asked() + ": " + whose);
        }
        for (Held other : all) {
            long token = other.grant().token();
            if (other != now && now.hasSlotOf(other)) {
                if (token >= now.grant().token()) {
                    wrong.add("reported after token " + token + ": " + whose);
                }
                if (other.since() >= now.since()) {
                    wrong.add("held before token " + token + ": " + whose);
                }
            }
        }
        return wrong;
    }
}
