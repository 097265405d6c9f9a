import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { whileAdvancing } from '../../testing/fake-clock.ts'
import { CONFIG, upstreamFixture as desk, ITEM } from '../../testing/upstream-fixture.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('looking at upstreams', () => {
  it('shows those that run, and those whose entry is wrong', async () => {
    const { control } = await desk({
      files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes" }, "bad": { "url": "x" } } }' },
    })
    expect(await control.upstreams({})).toMatchObject([
      { name: 'notes', state: 'up' },
      {
        name: 'bad',
        transport: 'http',
        state: 'off',
        reason: expect.stringContaining('entry in the configuration is wrong'),
      },
    ])
  })

  it('answers from the configuration where none are mounted, and shows no secret', async () => {
    const { control } = await desk({
      files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--key", "${env:KEY}"] } } }' },
      env: { KEY: 'hush-hush-1' },
      isMounted: false,
    })
    expect(await control.upstreams({})).toMatchObject([{ state: 'idle', target: 'notes --key [secret]' }])
  })

  it('shows of an address what holds no key, and of arguments what looks like none', async () => {
    const servers = {
      far: { url: 'https://me:pass@far.example/mcp?key=hush' },
      near: { command: 'near', args: ['--token', 'hush-hush-2'] },
      short: { command: 'short', args: ['-H', 'Authorization: Bearer abc', '--header=X-Api-Key:d'] },
      hook: { url: 'https://hooks.slack.com/services/T0/B0/hush' },
    }
    const { control } = await desk({ files: { [CONFIG]: JSON.stringify({ mcpServers: servers }) }, isMounted: false })
    expect(await control.upstreams({})).toMatchObject([
      { name: 'far', target: 'https://far.example/mcp' },
      { name: 'near', target: 'near --token [secret]' },
      { name: 'short', target: 'short -H Authorization: Bearer [secret] --header=X-Api-Key:[secret]' },
      { name: 'hook', target: 'https://hooks.slack.com/[secret]' },
    ])
  })

  it('does not say that one recovers where nobody keeps it', async () => {
    const states = { notes: ['recovering' as const] }
    const stateFor = async (from: 'up' | 'process', unseen: string[]) =>
      (await (await desk({ ...NOTES, states, from, unseen })).control.upstreams({}))[0]?.state
    expect(await stateFor('process', ['notes'])).toBe('down')
    expect(await stateFor('process', [])).toBe('down')
    expect(await stateFor('up', ['notes'])).toBe('recovering')
  })

  it('passes logs, restarts and reviews on', async () => {
    const { control, done } = await desk(NOTES)
    expect(await control.upstreamLogs({ name: 'notes', limit: 5 })).toEqual([
      { at: 1, from: 'stderr', text: 'notes 5' },
    ])
    expect(await control.restartUpstream({ name: 'notes' })).toMatchObject({ name: 'notes', state: 'up' })
    expect(await control.reviewItems({ name: 'notes' })).toEqual([ITEM])
    const items = [{ kind: 'tool' as const, name: 'read', hash: 'h' }]
    const choice = { upstream: 'notes', items, decision: 'accept' as const }
    expect(await control.decideReview(choice)).toEqual([ITEM])
    // Whoever is answered finds what was done.
    expect(done).toEqual(['shown', ['restart', 'notes'], 'shown', choice, 'shown'])
  })

  it('waits for a restarted one as long as it may take to start where nobody goes on with it, and else for a moment', async () => {
    const states = { notes: [...Array<'starting'>(400).fill('starting'), 'up' as const] }
    const stateFrom = async (from: 'up' | 'process', signal = new AbortController().signal) => {
      const { control, clock } = await desk({ ...NOTES, states, from })
      return (await whileAdvancing(clock, control.restartUpstream({ name: 'notes' }, { signal }), 1_000)).state
    }
    expect(await stateFrom('process')).toBe('up')
    expect(await stateFrom('process', AbortSignal.abort())).toBe('starting')
    expect(await stateFrom('up')).toBe('starting')
  })

  it('waits until agents have what was seen of a server before it is counted, and no longer than for the server', async () => {
    const { control, done } = await desk(NOTES)
    for (let look = 0; look < 2; look++)
      expect(await control.upstreams({})).toMatchObject([{ state: 'up', tools: { offered: 2 } }])
    expect(done).toEqual(['shown'])
    const stuck = await desk({ ...NOTES, isReloadStuck: true })
    const answer = await whileAdvancing(stuck.clock, stuck.control.upstreams({}), 1_000)
    expect(answer).toMatchObject([{ state: 'up', tools: { offered: 0 } }])
  })

  it('counts what is held back of others because of what comes', async () => {
    const { control } = await desk({ ...NOTES, outspoken: ['notes'] })
    await control.addUpstream({ name: 'mail', entry: { command: 'a' } })
    const tools = { offered: 1, held: 1 }
    expect(await control.upstreams({})).toMatchObject([{ name: 'notes', tools }, { tools: { offered: 2, held: 0 } }])
  })

  it('has looked at what servers say of others before it is reviewed, and offers what is held then to nobody', async () => {
    const { control } = await desk({ ...NOTES, outspoken: ['notes'] })
    await control.upstreams({})
    await control.reviewItems({})
    expect(await control.upstreams({})).toMatchObject([{ tools: { offered: 1, held: 1 } }])
    const stuck = await desk({ ...NOTES, outspoken: ['notes'], isReloadStuck: true })
    expect(await whileAdvancing(stuck.clock, stuck.control.reviewItems({}), 1_000)).toEqual([ITEM])
  })

  it('says in a review whose the name is that a tool would be called by', async () => {
    const { control } = await desk({ ...NOTES, tools: { read: 'upstream:files' } })
    const clash = expect.stringMatching(
      /^The tool name "read" is taken by upstream:files .* keeps it while it offers it\. Give it another name/,
    )
    expect(await control.reviewItems({})).toEqual([{ ...ITEM, clash }])
    const { calledAs: _unknown, ...unnamed } = ITEM
    const switchedOff = await desk({ ...NOTES, item: unnamed, tools: { read: 'upstream:files' } })
    expect(await switchedOff.control.reviewItems({})).toEqual([unnamed])
    const own = await desk({ ...NOTES, tools: { read: 'upstream:notes' } })
    expect(await own.control.reviewItems({})).toEqual([ITEM])
  })

  it('says in a review who gets the name of what is offered if it is rejected', async () => {
    const lost = {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      subject: 'tool:read',
      field: 'name',
      message: '',
    } as const
    const problems = [{ ...lost, where: 'upstream:files' }]
    const item = { ...ITEM, state: 'warned' } as const
    const { control } = await desk({ ...NOTES, item, problems })
    const clash = 'Rejected, it leaves its name to upstream:files: calls of "read" go there.'
    expect(await control.reviewItems({})).toEqual([{ ...item, clash }])
    const changed = await desk({ ...NOTES, problems })
    expect(await changed.control.reviewItems({})).toEqual([ITEM])
  })

  it('fails where what is known of them cannot be read, and blames no server', async () => {
    const unreadable = new AppError('STORE_LOCKED', 'The data folder belongs to another.')
    const { control, done } = await desk({ ...NOTES, unreadable })
    await expect(control.upstreams({})).rejects.toBe(unreadable)
    await expect(control.restartUpstream({ name: 'notes' })).rejects.toBe(unreadable)
    expect(done).toEqual([])
  })

  it.each(['upstreamLogs', 'restartUpstream', 'reviewItems'] as const)(
    'refuses a name that %s does not know',
    async operation => {
      const { control } = await desk(NOTES)
      await expect(control[operation]({ name: 'notse' })).rejects.toMatchObject({
        code: 'NAME_UNKNOWN',
        message: expect.stringContaining('Did you mean "notes"?'),
      })
    },
  )
})
