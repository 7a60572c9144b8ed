module barnabas/compat/transactions

go 1.26.0
