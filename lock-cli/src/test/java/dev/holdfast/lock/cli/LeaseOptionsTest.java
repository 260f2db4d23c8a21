package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class LeaseOptionsTest {

    private static LeaseOptions parsed(String args) {
        LeaseOptions options = new LeaseOptions();
        new CommandLine(options)
                .registerConverter(Duration.class, new DurationText())
                .parseArgs(args.isEmpty() ? new String[0] : args.split(" "));
        return options;
    }

    @ParameterizedTest
    @CsvSource({
        "'',5000",
        "--lease 60s,5000",
        "--lease 9s,3000",
        "--lease 15001ms,5000",
        "--max-hold 60s,5000",
        "--max-hold 6s,2000",
        "--lease 9s --max-hold 12s,3000",
        "--grace 7500ms,7500",
        "--grace 1ms,1",
        "--grace 2s --max-hold 2001ms,2000"
    })
    void grace_isFiveSeconds_orAThirdOfWhatIsShorter_orWhatIsGiven(String args, long millis) {
        assertThat(parsed(args).grace()).hasMillis(millis);
    }

    @ParameterizedTest
    @CsvSource({"--grace 7501ms", "--grace 0", "--grace 3s --max-hold 3s", "--lease 4s --grace 2001ms"})
    void grace_thatLeavesNoTime_isRefused(String args) {
        assertThatThrownBy(() -> parsed(args).grace()).isInstanceOf(UsageException.class);
    }

    @Test
    void lock_hasTheLease_andTheMaxHold() {
        assertThat(parsed("").lockOptions().lease()).hasSeconds(15);
        assertThat(parsed("").lockOptions().maxHold()).isEmpty();
        LeaseOptions set = parsed("--lease 7s --max-hold 90s --on-loss ignore");
        assertThat(set.lockOptions().lease()).hasSeconds(7);
        assertThat(set.lockOptions().maxHold()).contains(Duration.ofSeconds(90));
        assertThat(set.ignoresLoss()).isTrue();
        assertThat(parsed("").ignoresLoss()).isFalse();
        assertThat(parsed("--on-loss term").ignoresLoss()).isFalse();
        for (String bad : new String[] {"--lease 0", "--max-hold 0"}) {
            assertThatThrownBy(() -> parsed(bad).lockOptions()).isInstanceOf(UsageException.class);
        }
    }
}
