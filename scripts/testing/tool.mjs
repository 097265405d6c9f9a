// @ts-check
// Stands in for a tool: writes down how it was called and fails when told to.
import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'

const [, script = '', ...args] = process.argv
const name = basename(script, '.mjs')
appendFileSync('calls.log', `${[name, ...args].join(' ')}\n`)
console.log(`${name} is done`)
if (process.env.FAILING === name) process.exitCode = 5
