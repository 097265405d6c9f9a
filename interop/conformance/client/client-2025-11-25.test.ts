import { judgeClient } from './judged-client.ts'

judgeClient('2025-11-25')
