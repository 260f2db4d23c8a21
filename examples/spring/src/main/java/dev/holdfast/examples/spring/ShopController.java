package dev.holdfast.examples.spring;

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
    private final NightlyReport report;

    ShopController(Accounts accounts, NightlyReport report) {
        this.accounts = accounts;
        this.report = report;
    }

    @GetMapping("/accounts/{account}")
    long balance(@PathVariable long account) {
        return accounts.balance(account);
    }

    @PostMapping("/accounts/{account}/withdraw")
    long withdraw(@PathVariable long account, @RequestParam long amount) {
        accounts.withdraw(account, amount);
        return accounts.balance(account);
    }

    @GetMapping("/reports")
    Reports reports() {
        return new Reports(report.begun(), report.runs());
    }

    @ExceptionHandler(IllegalStateException.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    String refused(IllegalStateException e) {
        return String.valueOf(e.getMessage());
    }

    record Reports(int begun, int made) {}
}
