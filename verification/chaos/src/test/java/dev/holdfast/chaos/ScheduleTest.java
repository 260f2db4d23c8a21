package dev.holdfast.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.cluster.Clusters;
import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.fault.Schedule;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ScheduleTest {

    @Test
    void sameSeed_sameFaults() {
        List<Fault> one = Schedule.draw(7, 300_000, Profile.full(2_000));
        assertThat(Schedule.draw(7, 300_000, Profile.full(2_000))).isEqualTo(one);
        assertThat(Schedule.draw(8, 300_000, Profile.full(2_000))).isNotEqualTo(one);
    }

    @Test
    void halfAnHour_hasFaultsOfAllKinds() {
        List<Fault> faults = Schedule.draw(
                7,
                1_800_000,
                Profile.full(2_000).withPeerCuts().withSlowDisks().withMoves().withLateAndCutOff());
        assertThat(faults.stream().map(Fault::kind).distinct()).containsExactlyInAnyOrder(FaultKind.values());
        assertThat(faults).allMatch(fault -> fault.atMillis() + fault.durationMillis() <= 1_800_000);
    }

    @Test
    void profile_hasWhatCanBeWithTheStore() {
        assertThat(Clusters.profile("etcd", 2_000).weights())
                .containsKeys(FaultKind.PEER_CUT, FaultKind.PEER_CUT_ONE_WAY, FaultKind.SLOW_DISK);
        assertThat(Clusters.profile("postgresql", 2_000).weights())
                .containsKey(FaultKind.SLOW_DISK)
                .doesNotContainKeys(FaultKind.PEER_CUT, FaultKind.PEER_CUT_ONE_WAY);
        assertThat(Clusters.profile("memcached", 2_000).weights().keySet()).noneMatch(FaultKind::isDemanding);
    }

    @Test
    void whyNot_saysWhatIsMissing() {
        assertThat(Clusters.whyNot(FaultKind.PEER_CUT, "postgresql").orElseThrow())
                .contains("postgresql", "machines of their own");
        assertThat(Clusters.whyNot(FaultKind.SLOW_DISK, "memcached").orElseThrow())
                .contains("memcached", "no disk");
        assertThat(Clusters.whyNot(FaultKind.NET_CUT, "memory")).isEmpty();
    }

    @Test
    void kindsThatAreAskedFor_areDrawn_andNoOthers() {
        List<Fault> faults = Schedule.draw(7, 600_000, Profile.full(2_000).with("PEER_CUT,PEER_CUT_ONE_WAY,SLOW_DISK"));
        assertThat(faults.stream().map(Fault::kind).distinct())
                .containsExactlyInAnyOrder(FaultKind.PEER_CUT, FaultKind.PEER_CUT_ONE_WAY, FaultKind.SLOW_DISK);
    }
}
