package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Expected and unexpected answers of an agent. */
final class ReplyTest {
    private static final String HELD =
            "[{\"Key\":\"k\",\"CreateIndex\":3,\"ModifyIndex\":5,\"Session\":\"s\",\"Value\":\"dg==\"}]";

    @Test
    void expected_isTheReply_anythingElseIsAFailure() throws Exception {
        Reply reply = new Reply(Reply.NOT_FOUND, 0, "no such key");
        assertThat(reply.expect(Reply.OK, Reply.NOT_FOUND)).isSameAs(reply);
        assertThatThrownBy(() -> reply.expect(Reply.OK))
                .isInstanceOfSatisfying(
                        ConsulException.class,
                        failure -> assertThat(failure.status()).isEqualTo(Reply.NOT_FOUND))
                .hasMessage("no such key");
    }

    @Test
    void entry_isTheKey_perhapsWithoutASession() {
        assertThat(entry(HELD)).isEqualTo(new Reply.Entry("k", 3, 5, "s", "dg=="));
        assertThat(entry(HELD.replace("\"s\"", "null"))).isEqualTo(new Reply.Entry("k", 3, 5, "", "dg=="));
    }

    private static Reply.Entry entry(String body) {
        return Reply.Entry.of(
                new Reply(Reply.OK, 9, body).json().getAsJsonArray().get(0).getAsJsonObject());
    }
}
