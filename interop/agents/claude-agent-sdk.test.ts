import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { McpServerConfig } from '@anthropic-ai/claude-agent-sdk'
import { createQuartermaster, type Quartermaster } from 'quartermaster'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startProduct } from '../support/running-product.ts'
import { type Script, stepByStep } from '../support/script.ts'
import { type RunOptions, runClaude } from './claude-code.ts'
import { scriptedClaude } from './scripted-claude.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/snippets/claude-agent.mjs', import.meta.url))
/** From here on the SDK is found, and the package as well. */
const HERE = fileURLToPath(new URL('.', import.meta.url))

const ADD = { tool: 'mcp__desk__add', input: { a: 2, b: 3 } }

/** The clerk's tools as the SDK takes them, open for all of these tests. */
interface OpenDesk {
  readonly server: RunOptions['server']
  close(): Promise<void>
}

const PLACES: Readonly<Record<string, () => Promise<OpenDesk>>> = {
  'in this process': inProcess,
  'behind a running up': behindUp,
}

/** Adds two numbers, and counts to what came out: the second step needs the answer to the first. */
const addThenCount: Script = ({ outputs: [sum, counted] }) => {
  if (sum === undefined) return ADD
  // Claude Code adds words of its own to what a tool has answered.
  const end = Number(/"sum":\s*(\d+)/.exec(sum)?.[1])
  return counted === undefined ? { tool: 'mcp__desk__count_to', input: { end } } : undefined
}

describe.each(Object.entries(PLACES))('the Claude Agent SDK, with the tools of an agent %s', (_where, open) => {
  let desk: OpenDesk

  beforeAll(async () => {
    desk = await open()
  })
  afterAll(() => desk?.close())

  const run = async (script: Script) => {
    const { workplace, model } = await scriptedClaude(script)
    return { model, ...(await runClaude({ workplace, server: desk.server })) }
  }

  it('solves a task in two steps', async () => {
    const { servers, results, closing } = await run(addThenCount)
    expect(servers).toEqual({ desk: 'connected' })
    expect(results.map(({ isError }) => isError)).toEqual([false, false])
    expect(closing).toContain('Counted to 5.')
  })

  it('lets the model read why a tool says no, could not be run, or does not take its input', async () => {
    const { results } = await run(
      stepByStep(
        { tool: 'mcp__desk__refuse', input: {} },
        { tool: 'mcp__desk__copy', input: {} },
        { tool: 'mcp__desk__add', input: { a: 'one' } },
      ),
    )
    expect(results).toEqual([
      { isError: true, text: expect.stringContaining('The desk is closed.') },
      { isError: true, text: expect.stringContaining('DEPENDENCY_UNAVAILABLE') },
      { isError: true, text: expect.stringContaining('INPUT_INVALID') },
    ])
  })
})

it('is used as the page says', async () => {
  const { workplace, model } = await scriptedClaude(
    stepByStep({ tool: 'mcp__files__read_file', input: { path: 'note.txt' } }),
  )
  const project = join(workplace.home, 'project')
  await mkdir(join(project, 'agents'), { recursive: true })
  await writeFile(join(project, 'quartermaster.config.json'), '{}')
  await writeFile(join(project, 'agents/default.json'), '{ "capabilities": { "files": { "dirs": ["."] } } }')
  await writeFile(join(project, 'note.txt'), 'The key is under the mat.')
  const folder = await mkdtemp(join(HERE, '.example-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(EXAMPLE, join(folder, 'main.mjs'))
  const ran = promisify(execFile)(process.execPath, [join(folder, 'main.mjs')], { cwd: project, env: workplace.env })
  ran.child.stdin?.end()
  expect((await ran).stdout).toContain('The key is under the mat.')
  expect(model.turns[0]?.tools).toContain('mcp__files__read_file')
})

async function inProcess(): Promise<OpenDesk> {
  const folder = await mkdtemp(join(tmpdir(), 'desk-'))
  await cp(DESK, folder, { recursive: true })
  const host = await createQuartermaster({ dir: folder, env: {} })
  return {
    // The SDK connects a server once: each run has one of its own, as each run of a host has.
    get server() {
      return serverOf(host)
    },
    async close() {
      await host.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function serverOf(host: Quartermaster): McpServerConfig {
  const context = host.contextFor('clerk')
  return host.resolve(context.agent.capabilities, context).mcpServers.desk as McpServerConfig
}

async function behindUp(): Promise<OpenDesk> {
  const product = await startProduct(DESK)
  const { token } = await product.issue('clerk')
  return { server: { url: product.mcpUrl, token }, close: product.stop }
}
