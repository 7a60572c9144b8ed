module barnabas/compat/chaos/checker

go 1.26.0
