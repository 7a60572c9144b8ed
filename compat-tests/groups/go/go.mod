module barnabas/compat/groupmember

go 1.26.0
