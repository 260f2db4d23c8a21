package dev.holdfast.examples.spring;

import java.io.IOException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The shop over HTTP. */
@RestController
class ShopController {
    private final Accounts accounts;
    private final Statements statements;
    private final NightlyReport report;

    ShopController(Accounts accounts, Statements statements, NightlyReport report) {
        this.accounts = accounts;
        this.statements = statements;
        this.report = report;
    }

    @GetMapping("/accounts/{account}")
    long balance(@PathVariable long account) {
        return accounts.balance(account);
    }

    @PostMapping("/accounts/{account}/transfer")
    long transfer(@PathVariable long account, @RequestParam long to, @RequestParam long amount) {
        accounts.transfer(account, to, amount);
        return accounts.balance(account);
    }

    @PostMapping("/accounts/{account}/statements")
    int statement(@PathVariable long account) throws IOException {
        return statements.number(account);
    }

    @GetMapping("/reports")
    int reports() {
        return report.runs();
    }

    @ExceptionHandler(IllegalStateException.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    String refused(IllegalStateException e) {
        return String.valueOf(e.getMessage());
    }
}
