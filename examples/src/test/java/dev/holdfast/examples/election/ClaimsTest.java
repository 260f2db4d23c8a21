package dev.holdfast.examples.election;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What candidates say becomes what the judge needs. */
final class ClaimsTest {
    private final List<Term> elected = new ArrayList<>();
    private final Claims claims = new Claims(elected::add);

    @Test
    void claims_becomeTerms() {
        claims.onOutput(1, "leads 1024 100");
        claims.onOutput(1, "leads 1024 105");
        claims.onOutput(2, "leads 2048 200");
        claims.onOutput(1, "leads 1024 110");

        assertThat(claims.terms()).containsExactly(new Term(1, 1024, 100, 110, 3), new Term(2, 2048, 200, 200, 1));
        assertThat(elected).containsExactly(new Term(1, 1024, 100, 100, 1), new Term(2, 2048, 200, 200, 1));
        assertThat(claims.latest()).map(Term::candidate).contains(2);
    }

    @Test
    void twoWithTheSameToken_staySeparate() {
        claims.onOutput(1, "leads 1024 100");
        claims.onOutput(2, "leads 1024 100");
        assertThat(claims.terms()).hasSize(2);
        assertThat(Judge.judge(claims.terms(), 0, Optional.empty()).text()).startsWith("TWO LEADERS AT ONCE");
    }

    @Test
    void writeWithAFormerToken_isLate() {
        claims.onOutput(1, "wrote 1024");
        claims.onOutput(2, "wrote 2048");
        claims.lateFromNow(1024);
        assertThat(claims.lateWrites()).isZero();
        claims.onOutput(2, "wrote 2048");
        assertThat(claims.lateWrites()).isZero();
        claims.onOutput(1, "wrote 1024");
        assertThat(claims.lateWrites()).isOne();
        assertThat(claims.highestWritten()).isEqualTo(2048);
    }

    @Test
    void unknownLine_isAFailure() {
        assertThat(claims.error()).isEmpty();
        claims.onOutput(1, "error the store is gone");
        assertThat(claims.error()).contains("error the store is gone");
    }
}
