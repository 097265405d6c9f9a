import { judgeClient } from './judged-client.ts'

judgeClient('2026-07-28')
