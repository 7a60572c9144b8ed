module barnabas/compat/ways

go 1.26.0
