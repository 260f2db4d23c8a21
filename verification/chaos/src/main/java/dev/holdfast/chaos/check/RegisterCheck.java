package dev.holdfast.chaos.check;

import dev.holdfast.chaos.register.Register;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * S3: a resource that checks tokens accepts no stale write. A write is stale if its token is older than one that was seen,
 * or if it is based on a value that is no longer there; two holders with the same token make the second kind.
 * A reader is compared with those who write alone, and reads one value; a holder of permits with those of its slot.
 */
public final class RegisterCheck implements Check {
    /** The name. */
    public static final String NAME = "S3 register";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        long writes = 0;
        long sharedReads = 0;
        long refused = 0;
        for (List<Register.Access> accesses : evidence.accesses().values()) {
            long highest = Long.MIN_VALUE;
            long highestAlone = Long.MIN_VALUE;
            Map<Long, Long> holders = new HashMap<>();
            for (Register.Access access : accesses) {
                if (access.accepted()) {
                    Long holder = access.shared() ? null : holders.putIfAbsent(access.token(), access.holder());
                    if (holder != null && holder != access.holder()) {
                        violations.add(access.place() + ": two holders used token " + access.token());
                    }
                    long newest = access.shared() ? highestAlone : highest;
                    if (access.token() < newest) {
                        violations.add(access.place() + ": token " + access.token() + " was accepted after " + newest);
                    }
                    if (access.write() && access.base() != access.before()) {
                        violations.add(access.place() + ": the write with token " + access.token() + " overwrote "
                                + access.before() + ", but its holder had read " + access.base());
                    }
                    if (access.shared() && access.base() != Register.NOTHING && access.base() != access.before()) {
                        violations.add(access.place() + ": the reader with token " + access.token() + " read "
                                + access.before() + " after " + access.base());
                    }
                    highest = Math.max(highest, access.token());
                    highestAlone = access.shared() ? highestAlone : Math.max(highestAlone, access.token());
                }
                writes += access.write() && access.accepted() ? 1 : 0;
                sharedReads += access.shared() && access.accepted() ? 1 : 0;
                refused += access.accepted() ? 0 : 1;
            }
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("guarded writes", writes);
        if (sharedReads > 0) {
            facts.put("guarded reads of shares", sharedReads);
        }
        facts.put("refused as stale", refused);
        return Result.of(NAME, violations, facts, writes + refused, "nobody wrote");
    }
}
