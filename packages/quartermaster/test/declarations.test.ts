import { rename, rm } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createQuartermaster, type Quartermaster, registerOp } from '../src/index.ts'
import { tempProject } from '../src/testing/temp-project.ts'

const OPS = `
import { appendFile } from 'node:fs/promises'
import { registerOp } from 'quartermaster'

export const append = registerOp('op.notes.append', {
  short: 'Adds a line to a file of notes.',
  settings: { type: 'object', properties: { sign: { type: 'string' } }, additionalProperties: false },
  input: { type: 'object', properties: { text: { type: 'string', maxLength: 500 } }, required: ['text'] },
  handler: ({ text }, { settings }) => (settings.sign ?? '-') + ' ' + text,
})
`
const KEEP = `---
schema: 1
op: op.notes.append
short: Keeps a thought.
search: [remember, diary]
parameters:
  text: { description: What was thought., maxLength: 20, required: true }
examples:
  - query: remember the milk
    input: { text: buy milk }
with: { sign: "*" }
---

One thought to a line.
`
const AGENT = '{ "capabilities": { "thoughts": {} } }'
const SEEKER = '{ "capabilities": { "thoughts": {} }, "view": "gateway" }'

async function open(files: Record<string, string>, ops: Parameters<typeof createQuartermaster>[0] = {}) {
  const project = await tempProject({ 'quartermaster.config.json': '{}', 'agents/worker.json': AGENT, ...files })
  const quartermaster = await createQuartermaster({ dir: project.dir, env: {}, watch: true, ...ops })
  onTestFinished(() => quartermaster.stop())
  return { project, quartermaster }
}

async function say(quartermaster: Quartermaster, tool: string, text = 'rain') {
  const { result } = await quartermaster.call({ agent: 'worker', tool, input: { text } })
  return result.content[0]
}

const problemsOf = async ({ control }: Quartermaster) => (await control.doctor({})).map(({ what }) => what).join('\n')
/** Edits are noticed by themselves, whenever the machine gets to it. */
const soon = (look: () => unknown) => vi.waitFor(look, { timeout: 300_000, interval: 20 })

it('makes a tool of a Markdown file and an op of the project, and follows both as they are edited', async () => {
  const { project, quartermaster } = await open({ 'capabilities/notes.ts': OPS, 'knowledge/thoughts/keep.md': KEEP })
  expect(await say(quartermaster, 'keep')).toEqual({ type: 'text', text: '* rain' })
  expect(quartermaster.tool('keep')).toMatchObject({
    opId: 'op.notes.append',
    source: 'knowledge/thoughts/keep.md',
    capability: 'thoughts',
    state: 'active',
  })
  expect(await quartermaster.control.tool({ name: 'keep' })).toMatchObject({ opId: 'op.notes.append' })

  await project.write('knowledge/thoughts/keep.md', KEEP.replace('"*"', '"#"'))
  await soon(async () => expect(await say(quartermaster, 'keep')).toEqual({ type: 'text', text: '# rain' }))

  await project.write('knowledge/thoughts/keep.md', KEEP.replace('maxLength: 20', 'maxLength: 900'))
  await soon(async () =>
    expect(await problemsOf(quartermaster)).toContain(
      'parameters.text.maxLength must be at most 500, as the op has it.',
    ),
  )
  expect(await say(quartermaster, 'keep')).toEqual({ type: 'text', text: '# rain' })

  await project.write('knowledge/thoughts/keep.md', KEEP)
  await soon(async () => expect(await say(quartermaster, 'keep')).toEqual({ type: 'text', text: '* rain' }))
  expect(await problemsOf(quartermaster)).not.toContain('keep')

  await rename(project.path('knowledge/thoughts/keep.md'), project.path('knowledge/thoughts/jot.md'))
  await soon(() => expect(quartermaster.tool('jot').opId).toBe('op.notes.append'))
  expect(() => quartermaster.tool('keep')).toThrow('There is no tool "keep"')

  await rm(project.path('capabilities/notes.ts'))
  await soon(async () => expect(await problemsOf(quartermaster)).toContain('op "op.notes.append" is not registered'))
  await expect(say(quartermaster, 'jot')).rejects.toMatchObject({ code: 'TOOL_DISABLED' })

  await project.write('capabilities/notes.ts', OPS)
  await soon(async () => expect(await say(quartermaster, 'jot')).toEqual({ type: 'text', text: '* rain' }))
})

it('takes up what is written in the very moment it has begun', async () => {
  const { project, quartermaster } = await open({ 'capabilities/notes.ts': OPS })
  await project.write('knowledge/thoughts/keep.md', KEEP)
  await project.write('agents/late.json', AGENT)
  await soon(async () =>
    expect(await quartermaster.call({ agent: 'late', tool: 'keep', input: { text: 'rain' } })).toMatchObject({
      result: { content: [{ text: '* rain' }] },
    }),
  )
})

it('is found by its words and read about below its head, and no model hears of the op', async () => {
  const { quartermaster } = await open(
    { 'capabilities/notes.ts': OPS, 'knowledge/thoughts/keep.md': KEEP, 'agents/seeker.json': SEEKER },
    { watch: false },
  )
  const ask = async (tool: string, input: Record<string, unknown>) =>
    JSON.stringify((await quartermaster.call({ agent: 'seeker', tool, input })).result)
  expect(await ask('find_tools', { query: 'diary' })).toContain('keep')
  expect(await ask('read_docs', { query: 'keep', depth: 'full' })).toContain('One thought to a line.')
  const toolbox = quartermaster.toolbox('worker')
  onTestFinished(() => toolbox.close())
  const [shown] = await toolbox.tools()
  expect(shown).toMatchObject({ name: 'keep', description: 'Keeps a thought.' })
  const heard = [shown, await toolbox.view(), await ask('describe_tool', { name: 'keep' })]
  expect(JSON.stringify(heard)).not.toContain('op.notes')
})

it('makes tools of the ops of a host program, those it opens with and those it registers later', async () => {
  const shout = registerOp('op.host.shout', {
    short: 'Shouts.',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    mutates: false,
    handler: ({ text }) => text.toUpperCase(),
  })
  const declare = (op: string) => `---\nschema: 1\nop: ${op}\nshort: Says it.\nparameters: { text: }\n---\n`
  const { quartermaster } = await open(
    { 'knowledge/thoughts/shout.md': declare('op.host.shout'), 'knowledge/thoughts/hum.md': declare('op.host.hum') },
    { ops: [shout], watch: false },
  )
  expect(await say(quartermaster, 'shout')).toEqual({ type: 'text', text: 'RAIN' })
  expect(await problemsOf(quartermaster)).toContain('"op.host.hum" is not registered')
  quartermaster.registerOp('op.host.hum', {
    short: 'Hums.',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    handler: ({ text }) => `hm, ${text}`,
  })
  expect(await say(quartermaster, 'hum')).toEqual({ type: 'text', text: 'hm, rain' })
  expect(await problemsOf(quartermaster)).not.toContain('op.host.hum')
  expect(() => quartermaster.registerOp('host.hum', { short: 'Hums.', handler: () => '' })).toThrow('op.notes.append')
})
