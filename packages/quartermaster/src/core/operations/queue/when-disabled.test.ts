import { describe, expect, it } from 'vitest'
import { ONCE, OWNER } from '../../../testing/deletion-fixture.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { DOWN, failureOf, fakeService, simpleCapability, simpleTool, UP } from '../../../testing/hub.ts'
import { workerHub } from '../../../testing/worker-hub.ts'
import type { AnyTool } from '../../catalogue/index.ts'

async function fixture({
  tool = {},
  storage = faultyStorage(),
}: {
  tool?: Partial<AnyTool>
  storage?: ReturnType<typeof faultyStorage>
} = {}) {
  const post = fakeService('post', DOWN)
  const runs: unknown[] = []
  const handler: AnyTool['handler'] = input => `sent ${runs.push(input)}`
  const send = simpleTool('send', { requires: ['post'], mutates: true, handler, ...tool })
  const hub = await workerHub([send], { dependencies: [post], storage })
  await hub.health.probeNew()
  const set = async (verdict: typeof UP) => {
    post.verdict = verdict
    await hub.health.recheck('dependency:post', { force: true })
    await hub.clock.advance(2_000)
  }
  const later = () => hub.callAs('worker', 'send', { to: 'eve' }, { whenDisabled: 'wait' })
  const row = async () => (await storage.store.find('operations', {}))[0]
  return { hub, runs, storage, back: () => set(UP), gone: () => set(DOWN), later, row, post }
}

describe('a call that waits for a disabled tool', () => {
  it('is on record before it is answered, and has used up no attempt', async () => {
    const { later, row, runs } = await fixture()
    const { operationId } = await later()
    expect(await row()).toMatchObject({
      id: operationId,
      state: 'queued',
      attempts: 0,
      dueAt: null,
      error: { code: 'TOOL_DISABLED' },
    })
    expect(runs).toEqual([])
  })

  it('is run by the process that comes next', async () => {
    const storage = faultyStorage()
    const first = await fixture({ storage, tool: { mutates: false } })
    await first.later()
    await first.hub.stop()
    const second = await fixture({ storage, tool: { mutates: false } })
    second.hub.work()
    await second.hub.clock.advance(60_000)
    expect([second.runs, await second.row()]).toMatchObject([[], { state: 'queued' }])
    await second.back()
    expect(second.runs).toEqual([{ to: 'eve' }])
    expect(await second.row()).toMatchObject({ state: 'succeeded', result: { content: [{ text: 'sent 1' }] } })
  })

  it('waits on when its tool is gone again before it ran', async () => {
    const { hub, later, row, runs, back, gone, post } = await fixture()
    await later()
    const off = hub.emitter.on('operation.changed', ({ to }) => {
      if (to !== 'leased') return
      off()
      post.verdict = DOWN
      hub.health.reportFailure('post', 'It hung up.')
    })
    await back()
    await hub.clock.advance(30_000)
    expect([runs, await row()]).toMatchObject([[], { state: 'queued', attempts: 0, dueAt: null, fence: 1 }])
    await gone()
    await back()
    expect([runs, await row()]).toMatchObject([[{ to: 'eve' }], { state: 'succeeded' }])
  })

  it('expires with retryMaxAgeMinutes, and is announced', async () => {
    const { hub, later, row, runs } = await fixture({ tool: { mutates: false } })
    await later()
    await hub.clock.advance(25 * 3_600_000)
    expect(await row()).toMatchObject({ state: 'expired', error: { code: 'DEADLINE_EXCEEDED' }, announcedAt: null })
    expect((await row())?.error?.message).toContain('"post"')
    expect(hub.audit.at(-1)).toMatchObject({ outcome: 'notRun', code: 'DEADLINE_EXCEEDED' })
    expect(runs).toEqual([])
  })

  it('asks a person when its tool is back, as a call then would', async () => {
    const { hub, later, row, runs, back } = await fixture({ tool: { consent: ['mail.send'] } })
    expect((await later()).waiting?.for).toBe('dependency')
    await back()
    expect([runs, await row()]).toMatchObject([[], { state: 'waitingForApproval' }])
    await hub.consentServices('default').answer((await row())?.id ?? '', ONCE, OWNER)
    await hub.clock.advance(0)
    expect(runs).toEqual([{ to: 'eve' }])
    expect(await row()).toMatchObject({ state: 'succeeded' })
  })

  it('is not run by an agent that lost the tool, nor by another tool of the same name', async () => {
    const lost = await fixture()
    await lost.later()
    await lost.hub.setAgents({ worker: { capabilities: {} } })
    await lost.back()
    expect([lost.runs, await lost.row()]).toMatchObject([[], { state: 'failed', error: { code: 'TOOL_NOT_FOUND' } }])
    const changed = await fixture()
    await changed.later()
    const other = simpleTool('send', {
      requires: ['post'],
      mutates: true,
      idempotent: true,
    })
    changed.hub.write('main.ts', {
      capabilities: [simpleCapability('main', [other])],
      dependencies: [changed.post.dependency],
    })
    await changed.hub.catalogue.reload()
    await changed.back()
    expect(await changed.row()).toMatchObject({ state: 'failed', error: { code: 'DEFINITION_INVALID' } })
  })

  it('can be cancelled, and is never run then', async () => {
    const { hub, later, row, runs, back } = await fixture()
    const { operationId } = await later()
    await hub.operationAdmin.cancel(operationId)
    await back()
    expect([runs, await row()]).toMatchObject([[], { state: 'cancelled' }])
  })

  it('is not waited for by a tool around it', async () => {
    const { hub, post } = await fixture()
    const inner = simpleTool('send', { requires: ['post'], mutates: true })
    const outer = simpleTool('outer', { handler: async (_, context) => (await context.call('send', {})) as never })
    hub.write('main.ts', { capabilities: [simpleCapability('main', [inner, outer])], dependencies: [post.dependency] })
    await hub.catalogue.reload()
    expect(await failureOf(hub.callAs('worker', 'outer', {}, { whenDisabled: 'wait' }))).toMatchObject({
      code: 'TOOL_DISABLED',
    })
  })
})
