package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.StoreFinding;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class CacheExaminationTest {

    private static StoreFinding finding(String evictions, String assigned) {
        return CacheExamination.finding(Map.of(
                "evictions", evictions, "uptime", "7300", "limit_maxbytes", "67108864", "total_malloced", assigned));
    }

    @Test
    void evictions_areAWarning() {
        assertThat(finding("378156", "1048576").grade()).isEqualTo(StoreFinding.Grade.WARNING);
        assertThat(finding("378156", "1048576").observation()).contains("evicted 378156 items in 121 minutes");
        assertThat(finding("378156", "1048576").remedy()).contains("-m");
    }

    @Test
    void memoryThatIsAllAssigned_isAWarning() {
        assertThat(finding("0", "61000000").grade()).isEqualTo(StoreFinding.Grade.WARNING);
        assertThat(finding("0", "61000000").observation()).contains("61000000 of 67108864 bytes");
    }

    @Test
    void room_isOk_asFarAsItIsReported() {
        assertThat(finding("0", "1048576").grade()).isEqualTo(StoreFinding.Grade.OK);
        assertThat(CacheExamination.finding(Map.of("evictions", "many")).grade())
                .isEqualTo(StoreFinding.Grade.OK);
    }
}
