#!/usr/bin/env node
// npm links the command when it installs, and in a clone nothing is built by then.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = new URL('../dist/bin/quartermaster.js', import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  const clone = fileURLToPath(new URL('../../..', import.meta.url))
  process.stderr.write(`Quartermaster is not built yet. Run "npm run build" in ${clone}\n`)
  process.exitCode = 1
}
