import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../testing/memory-store.ts'
import { entry, SIGNAL, stage } from './testing/upstreams-fixture.ts'

/** Two that were seen before; one is started now, and the other one waits for its turn. */
async function oneWaiting() {
  const storage = memoryStorage()
  const configs = { busy: entry(), other: entry() }
  const before = await stage({ storage })
  await before.configure(configs)
  await Promise.all([before.isUp('busy'), before.isUp('other')])
  await before.upstreams.stop()
  const now = await stage({ storage, which: 'first' })
  await now.configure(configs)
  const waiting = now.upstreams.statuses().find(({ reason }) => reason === 'It is about to be started.')
  if (!waiting) throw new Error('None waits for its turn.')
  return { ...now, waiting }
}

describe('one that waits for its turn to be started', () => {
  it('is shown as one that is being started, with the tools it had', async () => {
    const { waiting, toolNames } = await oneWaiting()
    expect(waiting).toMatchObject({ state: 'starting', pids: [] })
    expect(await toolNames()).toContain(`${waiting.name}_add`)
  })

  it('is started at once by whoever calls a tool of it', async () => {
    const { waiting, units, status } = await oneWaiting()
    const tools = (await units()).flatMap(({ definitions }) => definitions.capabilities?.[0]?.tools ?? [])
    const tool = tools.find(({ name }) => name === `${waiting.name}_add`)
    const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    await tool?.handler({ a: 1, b: 2 } as never, context as never)
    expect(status(waiting.name)?.state).toBe('up')
  })

  it('is started at once by whoever wants it anew', async () => {
    const { waiting, upstreams, isUp, status } = await oneWaiting()
    await upstreams.restart(waiting.name)
    await isUp(waiting.name)
    expect(status(waiting.name)?.pids).toHaveLength(1)
  })

  it('is started when its turn comes', async () => {
    const { waiting, upstreams, isUp, status } = await oneWaiting()
    upstreams.start('all')
    await isUp(waiting.name)
    expect(status(waiting.name)?.pids).toHaveLength(1)
  })

  it('is started at once by whoever calls what may be a tool of it, where nobody has seen it', async () => {
    const { upstreams, configure, status, toolNames } = await stage({ which: 'first' })
    await configure({ one: entry(), new: entry() })
    const waiting = upstreams.statuses().find(({ reason }) => reason === 'It is about to be started.')?.name ?? ''
    expect(await toolNames()).not.toContain(`${waiting}_add`)
    expect(await upstreams.meetNow(waiting, 60_000)).toBe(true)
    expect(status(waiting)?.state).toBe('up')
    expect(await toolNames()).toContain(`${waiting}_add`)
  })

  it('is not waited for by such a call where it cannot be started, or is none of those that are kept', async () => {
    const { upstreams, configure } = await stage({ which: 'first' })
    await configure({ one: entry(), off: entry({ enabled: false }) })
    const met = ['off', 'unknown'].map(name => upstreams.meetNow(name, 600_000))
    expect(await Promise.all(met)).toEqual([false, false])
    const brief = await stage({ which: 'unseen' })
    await brief.configure({ one: entry() })
    expect(await brief.upstreams.meetNow('one', 600_000)).toBe(false)
  })

  it('is started at once when it was just added', async () => {
    const { upstreams, configure, isUp } = await stage({ which: 'first' })
    await configure({ one: entry(), added: entry() })
    for (const name of ['one', 'added']) upstreams.meet(name, { isChanged: false })
    await Promise.all([isUp('one'), isUp('added')])
    expect(upstreams.statuses().map(({ pids }) => pids.length)).toEqual([1, 1])
  })
})

it('starts several at once, whatever one of them comes to', async () => {
  const { upstreams, configure } = await stage()
  const hangs = entry({}, '--hang')
  await configure({ one: hangs, two: hangs, three: hangs, four: hangs })
  expect(upstreams.statuses().map(({ reason }) => reason)).not.toContain('It is about to be started.')
})
