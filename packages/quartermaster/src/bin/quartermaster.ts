#!/usr/bin/env node
import { main } from '../app/main.ts'

// A code, not an exit: what was written to a pipe must still get through it.
process.exitCode = await main(process.argv.slice(2))
