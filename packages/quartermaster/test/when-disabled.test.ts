import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CallAnswer, OperationFacts, OperationPage } from '../src/contracts/index.ts'
import { createQuartermaster, openToolbox } from '../src/index.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

/** A tool that reads what a station says, as soon as that is there. */
const STATION = `
  import { readFileSync } from 'node:fs'
  import { defineCapability, defineDependency, defineTool } from 'quartermaster'
  import { path } from 'quartermaster/probes'
  const file = new URL('../station.txt', import.meta.url).pathname
  const station = defineDependency({ name: 'station', probe: path({ path: file }) })
  const look = defineTool({
    name: 'look', short: 'Looks.', input: { type: 'object' }, mutates: false, requires: ['station'],
    handler: () => readFileSync(file, 'utf8'),
  })
  export default defineCapability({ key: 'weather', short: 'Weather.', dependencies: [station], tools: [look] })
`

async function project() {
  const settings = { recoveringSeconds: 0, watchIntervalSeconds: 1 }
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({ settings }),
    'capabilities/weather.js': STATION,
    'agents/default.json': '{ "capabilities": { "weather": {} } }',
    'agents/daring.json': '{ "capabilities": { "weather": {} }, "runDisabled": true }',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  const tokenOf = async (agent: string) =>
    (await run('tokens', 'create', agent, '--json')).json<{ token: string }>().token
  const show = async (id: string) => (await run('operations', 'show', id, '--json')).json<OperationFacts>()
  return { dir, run, show, tokenOf, back: () => writeFile(join(dir, 'station.txt'), 'sunny') }
}

const succeeded = { state: 'succeeded', attempts: 1, result: { content: [{ text: 'sunny' }] } }

describe('a call of a disabled tool', () => {
  it('is recorded at the command line, outlives the up that took it, and is run by the next', async () => {
    const at = await project()
    const first = await startUp(at.dir)
    const called = await at.run('call', 'look', '--when-disabled', 'wait')
    expect([called.code, called.stdout]).toEqual([14, ''])
    expect(called.stderr).toContain(
      '"look" waits for station, and runs automatically once that is available, within 24 hours. Do not call it again.',
    )
    const listed = (await at.run('operations', 'list', '--json')).json<OperationPage>()
    expect(listed.operations).toMatchObject([{ tool: 'look', state: 'queued', code: 'TOOL_DISABLED' }])
    const id = listed.operations[0]?.id ?? ''
    const shown = await at.run('operations', 'show', id)
    expect(shown.stdout).toMatch(/^Next attempt +when what it needs is there$/m)
    expect(shown.stdout).toContain('It needs "station", which is down')
    await first.stop()
    expect(await at.show(id)).toMatchObject({ state: 'queued', attempts: 0 })
    await startUp(at.dir)
    expect(await at.show(id)).toMatchObject({ state: 'queued', attempts: 0 })
    await at.back()
    await expect.poll(() => at.show(id)).toMatchObject(succeeded)
  })

  it('is recorded where no up runs, and says what it waits for', async () => {
    const at = await project()
    const called = await at.run('call', 'look', '--when-disabled', 'wait', '--json')
    const { operationId, waiting } = called.json<CallAnswer>()
    expect(waiting).toMatchObject({ for: 'dependency', missing: ['station'] })
    await at.back()
    await startUp(at.dir)
    await expect.poll(() => at.show(operationId)).toMatchObject(succeeded)
  })

  it('takes one of three words, and not two that differ', async () => {
    const at = await project()
    const wrong = await at.run('call', 'look', '--when-disabled', 'later')
    expect(wrong.stderr).toContain('Allowed choices are fail, wait, run')
    expect((await at.run('call', 'look', '--when-disabled', 'wait', '--even-if-disabled')).code).toBe(wrong.code)
    const failed = await at.run('call', 'look', '--when-disabled', 'fail')
    expect([failed.code, failed.stderr]).toEqual([5, expect.stringContaining('add --when-disabled wait')])
    const ran = await at.run('call', 'look', '--when-disabled', 'run')
    expect(ran.stderr).toContain('ENOENT')
  })

  it('is an agent’s to queue with its token, and to run where its file says so', async () => {
    const at = await project()
    const { url } = await startUp(at.dir)
    const as = async (agent: string, what: string) =>
      quartermaster(['call', 'look', '--when-disabled', what], {
        cwd: at.dir,
        env: { QUARTERMASTER_TOKEN: await at.tokenOf(agent), QUARTERMASTER_URL: url },
      })
    expect(await as('default', 'wait')).toMatchObject({
      code: 14,
      stderr: expect.stringContaining('waits for station'),
    })
    expect((await as('default', 'run')).stderr).toContain('"runDisabled": true')
    expect((await as('daring', 'run')).stderr).toContain('ENOENT')
  })

  it.each(['in this process', 'behind a running up'])('waits for a program %s', async where => {
    const at = await project()
    const isHere = where === 'in this process'
    const host = isHere ? await createQuartermaster({ dir: at.dir, env: {}, watch: true }) : undefined
    const { url } = isHere ? { url: '' } : await startUp(at.dir)
    const toolbox = host
      ? host.toolbox('default')
      : await openToolbox({ url: `${url}/mcp`, token: await at.tokenOf('default') })
    onTestFinished(async () => {
      await toolbox.close()
      await host?.stop()
    })
    const bad = await toolbox.call('look', {}, { whenDisabled: 'later' as never })
    expect(bad._meta?.['quartermaster/error']).toMatchObject({ code: 'INPUT_INVALID' })
    const call = () => toolbox.call('look', {}, { whenDisabled: 'wait', idempotencyKey: 'k1' })
    const answer = await call()
    expect(answer._meta?.['quartermaster/waiting']).toMatchObject({ for: 'dependency', missing: ['station'] })
    expect(answer.isError).toBeUndefined()
    await at.back()
    await expect.poll(call).toMatchObject({ content: [{ text: 'sunny' }] })
  })
  it('waits for a program that calls as its owner', async () => {
    const at = await project()
    const host = await createQuartermaster({ dir: at.dir, env: {}, watch: true })
    onTestFinished(() => host.stop())
    const { operationId, waiting } = await host.call({ agent: 'default', tool: 'look', whenDisabled: 'wait' })
    expect(waiting).toMatchObject({ for: 'dependency', missing: ['station'] })
    await at.back()
    await expect.poll(() => host.control.operation({ id: operationId })).toMatchObject(succeeded)
  })
})
