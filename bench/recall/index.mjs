// @ts-check
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'
import { orSayUsage, UsageError } from '../lib/usage.mjs'
import { readConversations } from './conversations.mjs'

await orSayUsage(async () => {
  const flags = readFlags()
  const folder = resolve(flags.folder)
  const parts = [
    { part: 'quality', options: { folder } },
    { part: 'held-out', options: {} },
    { part: 'speed', options: { rows: Number(flags.rows) } },
  ]
  const wanted = flags.only?.split(',') ?? parts.map(({ part }) => part)
  const unknown = wanted.filter(name => !parts.some(({ part }) => part === name))
  if (unknown.length > 0) throw new UsageError(`There is no part ${unknown.join(', ')}: quality, held-out, speed.`)
  // Before anything is measured: what is wrong with a folder is whoever's who named it.
  if (wanted.includes('quality')) await expectQuestions(folder)
  await runParts({ parts, beside: import.meta.url, flags })
})

function readFlags() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: 'string', default: fileURLToPath(new URL('sample', import.meta.url)) },
      json: { type: 'boolean', default: false },
      rows: { type: 'string', default: '100000' },
      only: { type: 'string' },
      profile: { type: 'string' },
    },
  })
  const [first] = positionals
  if (first !== undefined)
    throw new UsageError(`"${first}" is no option. For a folder of conversations: --folder ${first}`)
  if (!/^[1-9]\d*$/.test(values.rows)) throw new UsageError('--rows is a number of memories, such as 100000.')
  return values
}

/** @param {string} folder */
async function expectQuestions(folder) {
  const conversations = await readConversations(folder).catch(unfit)
  if (conversations.every(({ questions }) => questions.length === 0))
    throw new UsageError(`--folder has no question whose evidence is in its conversation: ${folder}`)
}

/** @param {Error} error @returns {never} */
function unfit({ message }) {
  throw new UsageError(`--folder has no conversations that can be read: ${message}`)
}
