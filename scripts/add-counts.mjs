// @ts-check
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

/** Adds the counts with which several runs of the tests ended, in their form: `Tests  2 failed | 5 passed (7)`. */
const counts = new Map()
let all = 0
for (const file of process.argv.slice(2)) {
  const text = stripVTControlCharacters(readFileSync(file, 'utf8'))
  const [, states, total] = [...text.matchAll(/^ *Tests +(.+) \((\d+)\)$/gm)].at(-1) ?? []
  if (states === undefined) {
    console.error('A run of the tests ended without a count.')
    process.exitCode = 1
    continue
  }
  all += Number(total)
  for (const state of states.split(' | ')) {
    const [count, name] = state.trim().split(' ')
    counts.set(name, (counts.get(name) ?? 0) + Number(count))
  }
}
const order = ['failed', 'passed', 'skipped', 'todo']
const found = order.flatMap(name => (counts.has(name) ? [`${counts.get(name)} ${name}`] : []))
console.log(`      Tests  ${found.join(' | ')} (${all})`)
