// @ts-check
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createQuartermaster } from 'quartermaster'

// A copy, because this edits what it shows.
const dir = await mkdtemp(join(tmpdir(), 'declarations-'))
await cp(fileURLToPath(new URL('.', import.meta.url)), dir, { recursive: true })
const file = join(dir, 'knowledge/diary/add_to_diary.md')
const written = await readFile(file, 'utf8')
const quartermaster = await createQuartermaster({ dir })

try {
  // A Markdown file is a tool, and tells which op it is made of.
  const { opId, source, capability } = quartermaster.tool('add_to_diary')
  assert.deepEqual([opId, source, capability], ['op.notes.append', 'knowledge/diary/add_to_diary.md', 'diary'])
  assert.equal(await textOf({ text: 'It rained.' }), 'Added to diary.txt.')
  assert.equal(await readFile(join(dir, 'diary.txt'), 'utf8'), 'It rained. (glad)\n')

  // It takes what it declares: the op's mood is fixed here, and is nobody's to choose.
  await assert.rejects(textOf({ text: 'It rained.', mood: 'sad' }), { code: 'INPUT_INVALID' })

  // What does not fit the op is told, and the last good version stays.
  await writeFile(file, written.replace('maxLength: 200', 'maxLength: 2000'))
  const { rejected } = await quartermaster.reload()
  assert.match(String(rejected[0]?.message), /parameters\.text\.maxLength must be at most 500, as the op has it/)
  assert.equal(await textOf({ text: 'It still rains.' }), 'Added to diary.txt.')

  // Another name at the head of the file is another name everywhere.
  await writeFile(file, written.replace('op: ', 'name: write_down\nop: '))
  assert.deepEqual((await quartermaster.reload()).removed, ['tool:add_to_diary'])
  assert.equal(await textOf({ text: 'The sun.' }, 'write_down'), 'Added to diary.txt.')
  console.log('All of it holds.')
} finally {
  await quartermaster.stop()
  await rm(dir, { recursive: true, force: true })
}

/**
 * @param {Record<string, unknown>} input
 * @param {string} tool
 */
async function textOf(input, tool = 'add_to_diary') {
  const { result } = await quartermaster.call({ agent: 'default', tool, input })
  const [first] = result.content
  return first?.type === 'text' ? first.text : undefined
}
