module barnabas/compat/basics

go 1.26.0
