package dev.holdfast.chaos.check;

import dev.holdfast.chaos.register.Register;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * S3: a resource that checks tokens accepts no stale write. A write is stale if its token is older than one that was seen,
 * or if it is based on a value that is no longer there; two holders with the same token make the second kind.
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
        long refused = 0;
        for (List<Register.Access> accesses : evidence.accesses().values()) {
            long highest = Long.MIN_VALUE;
            Map<Long, Long> holders = new HashMap<>();
            for (Register.Access access : accesses) {
                if (access.accepted()) {
                    Long holder = holders.putIfAbsent(access.token(), access.holder());
                    if (holder != null && holder != access.holder()) {
                        violations.add("name " + access.name() + ": two holders used token " + access.token());
                    }
                    if (access.token() < highest) {
                        violations.add("name " + access.name() + ": token " + access.token() + " was accepted after "
                                + highest);
                    }
                    if (access.write() && access.base() != access.before()) {
                        violations.add("name " + access.name() + ": the write with token " + access.token()
                                + " overwrote " + access.before() + ", but its holder had read " + access.base());
                    }
                    highest = Math.max(highest, access.token());
                }
                writes += access.write() && access.accepted() ? 1 : 0;
                refused += access.accepted() ? 0 : 1;
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("guarded writes", writes, "refused as stale", refused),
                writes + refused,
                "nobody wrote");
    }
}
