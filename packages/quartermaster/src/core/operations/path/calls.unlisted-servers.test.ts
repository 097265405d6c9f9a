import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { createCancellation } from '../../kernel/index.ts'

const issues = simpleTool('github_issues', { ownName: 'issues' })
const UNSEEN = 'It has not been reached yet.'

/** Two unlisted servers, of which the coder has one. The test decides how it answers when it is needed. */
async function unseenServer(becomes: 'seen' | 'unseen', connecting: Promise<unknown> = Promise.resolve()) {
  const met: [unit: string, withinMs: number][] = []
  const hub = await createHub({
    kind: 'upstream',
    units: {
      github: { capabilities: [simpleCapability('github', [], { unseen: UNSEEN })] },
      gitlab: { capabilities: [simpleCapability('gitlab', [], { unseen: UNSEEN })] },
    },
    agents: { coder: { capabilities: { github: {} } } },
    async connectUnseen(unit, withinMs) {
      met.push([unit, withinMs])
      await connecting
      if (becomes === 'unseen') return
      hub.write('github', { capabilities: [simpleCapability('github', [issues])] })
      await hub.catalogue.reload()
    },
  })
  return { hub, met, unit: hub.catalogue.current().capabilities.get('github')?.unit }
}

describe('a call of a tool whose source is still read', () => {
  const slow = () =>
    createHub({
      slow: true,
      units: { 'main.ts': { capabilities: [simpleCapability('main', [simpleTool('send')])] } },
      agents: { coder: { capabilities: { main: {} } } },
    })

  it('waits until it is there, and runs', async () => {
    const hub = await slow()
    const call = hub.callAs('coder', 'send')
    hub.hurry()
    expect((await call).result.content).toEqual([{ type: 'text', text: 'send' }])
  })

  it('is refused as disabled when its own time is over before', async () => {
    const hub = await slow()
    const call = failureOf(hub.callAs('coder', 'send', {}, { timeoutMs: 100 }))
    await hub.clock.advance(100)
    expect(await call).toMatchObject({ code: 'TOOL_DISABLED' })
  })

  it('waits for nothing where the agent has no part of it', async () => {
    const hub = await slow()
    await hub.setAgents({ coder: { capabilities: {} } })
    await expect(hub.callAs('coder', 'send')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })
})

describe('a call of what may be a tool of an unlisted server', () => {
  it('has the server met, for as long as a call waits, and runs the tool', async () => {
    const { hub, met, unit } = await unseenServer('seen')
    expect((await hub.callAs('coder', 'github_issues')).result.content).toEqual([
      { type: 'text', text: 'github_issues' },
    ])
    expect(met).toEqual([[unit, 30_000]])
    await hub.callAs('coder', 'github_issues')
    expect(met).toHaveLength(1)
  })

  it('says why there is none where that takes too long', async () => {
    const { hub } = await unseenServer('unseen')
    await expect(hub.callAs('coder', 'github_issues')).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining(UNSEEN),
    })
  })

  it('ends at once when it is cancelled while the server is met', async () => {
    const { hub, met } = await unseenServer('seen', new Promise(() => {}))
    const { signal, cancel } = createCancellation()
    const call = hub.callAs('coder', 'github_issues', {}, { signal })
    await expect.poll(() => met).toHaveLength(1)
    const reason = new AppError('CANCELLED', 'The caller gave up.')
    cancel(reason)
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('is not begun any more when all is stopped while the server is met', async () => {
    const connecting = deferred<void>()
    const { hub, met } = await unseenServer('seen', connecting.promise)
    const call = hub.callAs('coder', 'github_issues')
    await expect.poll(() => met).toHaveLength(1)
    hub.calls.stop()
    connecting.resolve()
    await expect(call).rejects.toMatchObject({ code: 'STOPPING' })
  })

  it('says that up is stopping, however long the server would still take', async () => {
    const { hub, met } = await unseenServer('seen', new Promise(() => {}))
    const call = hub.callAs('coder', 'github_issues')
    await expect.poll(() => met).toHaveLength(1)
    hub.calls.stop()
    await expect(call).rejects.toMatchObject({ code: 'STOPPING' })
  })

  it('has no server met that its agent does not have', async () => {
    const { hub, met } = await unseenServer('seen')
    for (const tool of ['gitlab_issues', 'other'])
      await expect(hub.callAs('coder', tool)).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    expect(met).toEqual([])
  })
})
