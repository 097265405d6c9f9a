import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { program, SDK_SERVER } from '../../packages/quartermaster/test/support/upstream-fixture.ts'
import { type RunningProduct, startProduct, startWithUpstreams } from '../support/running-product.ts'
import { onceOffered, stepByStep } from '../support/script.ts'
import { linesOf, runClaude, transcriptOf } from './claude-code.ts'
import { startFresh } from './fresh-product.ts'
import { scriptedClaude } from './scripted-claude.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))
const ADD = { tool: 'mcp__desk__add', input: { a: 20, b: 22 } }
const READ_LETTER = { tool: 'mcp__desk__read_letter', input: {} }

describe('Claude Code, connected with the line that up prints in a fresh folder', () => {
  it('calls a tool and reads what it answers', async () => {
    const note = 'The key is under the mat.'
    const fresh = await startFresh(note)
    onTestFinished(fresh.stop)
    const read = { tool: 'mcp__quartermaster__read_file', input: { path: 'note.txt' } }
    const { workplace, model } = await scriptedClaude(stepByStep(read))
    expect(await workplace.type(fresh.line)).toMatchObject({ code: 0 })
    expect((await workplace.type('claude mcp list')).output).toMatch(/quartermaster: .*Connected/)

    const flags =
      '--tools "" --allowedTools "mcp__quartermaster__*" --output-format stream-json --verbose --max-turns 4'
    const { output } = await workplace.type(`claude -p "Go on." ${flags}`)
    const { results } = await transcriptOf(linesOf(output))
    expect(results).toEqual([{ isError: false, text: expect.stringContaining(note) }])
    expect(model.turns.at(-1)?.outputs[0]).toContain(note)
  })
})

describe('Claude Code, with a token of an agent', () => {
  let product: RunningProduct

  beforeAll(async () => {
    product = await startProduct(DESK)
  })
  afterAll(() => product?.stop())

  it('calls a tool and sees a failure as one', async () => {
    const { token } = await product.issue('clerk')
    const { workplace } = await scriptedClaude(stepByStep(ADD, { tool: 'mcp__desk__refuse', input: {} }))
    const transcript = await runClaude({ workplace, server: { url: product.mcpUrl, token } })
    expect(transcript.servers).toEqual({ desk: 'connected' })
    expect(transcript.results).toEqual([
      { isError: false, text: expect.stringContaining('42') },
      { isError: true, text: expect.stringContaining('The desk is closed.') },
    ])
  })

  it.each([
    ['accept', 'Ada'],
    ['decline', 'decline'],
  ] as const)('passes a question on to the person, who answers: %s', async (action, expected) => {
    const { token } = await product.issue('clerk')
    const { workplace } = await scriptedClaude(stepByStep({ tool: 'mcp__desk__ask_name', input: {} }))
    const questions: string[] = []
    const { results } = await runClaude({
      workplace,
      server: { url: product.mcpUrl, token },
      onElicitation: async ({ message }) => {
        questions.push(message)
        return { action, content: { name: 'Ada' } }
      },
    })
    expect(questions).toEqual(['What is your name?'])
    expect(results).toEqual([{ isError: false, text: expect.stringContaining(expected) }])
  })

  const hasLetter = async () => {
    const tools = (await product.run('tools', '--agent', 'clerk', '--json')).json<{ name: string; state: string }[]>()
    return tools.some(({ name, state }) => name === 'read_letter' && state === 'active')
  }

  it('sees a tool that comes while it works', async () => {
    const lamp = join(product.folder, 'lamp.txt')
    await rm(lamp)
    await expect.poll(async () => !(await hasLetter()), { timeout: 300_000 }).toBeTruthy()
    const { token } = await product.issue('clerk')
    const script = onceOffered(READ_LETTER, ADD)
    const { workplace, model } = await scriptedClaude(async turn => {
      if (turn.outputs.length === 1) await writeFile(lamp, 'It is on.')
      return script(turn)
    })
    const { results } = await runClaude({ workplace, server: { url: product.mcpUrl, token } })
    expect(model.turns[0]?.tools).not.toContain(READ_LETTER.tool)
    expect(results.at(-1)).toEqual({ isError: false, text: expect.stringContaining('all is well') })
  })

  it('has directions as slash commands, and does what they say', async () => {
    const head = ['kind: directions', 'title: Lock up', 'summary: Ends the day.', 'whenToUse: It is late.']
    const unit = ['---', ...head, 'command: lock-up', 'tools: [add]', '---', 'Add 20 and 22, then lock the door.', '']
    await mkdir(join(product.folder, 'knowledge'), { recursive: true })
    await writeFile(join(product.folder, 'knowledge', 'lock-up.md'), unit.join('\n'))
    await product.run('reload')
    const { token } = await product.issue('clerk')
    const { workplace, model } = await scriptedClaude(stepByStep(ADD))
    const server = { url: product.mcpUrl, token }
    const transcript = await runClaude({ workplace, server, prompt: '/mcp__desk__lock-up' })
    expect(transcript.commands).toContain('mcp__desk__lock-up')
    expect(model.turns[0]?.told?.join('\n')).toContain('Add 20 and 22, then lock the door.')
    expect(transcript.results).toEqual([{ isError: false, text: expect.stringContaining('42') }])
  })

  it('is refused once its token is taken back', async () => {
    const { id, token } = await product.issue('clerk')
    await product.run('tokens', 'revoke', id)
    const { workplace, model } = await scriptedClaude(stepByStep())
    const { servers } = await runClaude({ workplace, server: { url: product.mcpUrl, token } })
    expect(servers.desk).not.toBe('connected')
    expect(model.turns[0]?.tools).not.toContain(ADD.tool)
  })
})

describe('Claude Code, with a server that someone else wrote behind the gateway', () => {
  it('calls a tool of that server', async () => {
    const product = await startWithUpstreams({ office: program(SDK_SERVER) })
    onTestFinished(product.stop)
    await product.reaches('office')
    const { token } = await product.issue('default')
    const { workplace } = await scriptedClaude(stepByStep({ tool: 'mcp__desk__office_add', input: { a: 20, b: 22 } }))
    const { results } = await runClaude({ workplace, server: { url: product.mcpUrl, token } })
    expect(results).toEqual([{ isError: false, text: expect.stringContaining('42') }])
  })
})
