import { describe, expect, it } from 'vitest'
import type { ReviewItem } from '../src/contracts/index.ts'
import {
  definition,
  listingBy,
  openListingFixture,
  recordingClient,
  type Way,
  watchingClient,
} from './support/listing-fixture.ts'
import { onFixture, openFixture, textOf } from './support/upstream-fixture.ts'

describe('a definition that its server changes', () => {
  it('is held back in live sessions, whatever changed, while the others stay; accepted, it is back', async () => {
    const fixture = await openListingFixture(['text', 'schema', 'hint', 'same'].map(name => definition(name)))
    const { client, seen, names } = await watchingClient(fixture)
    expect(await names()).toEqual(['desk_hint', 'desk_same', 'desk_schema', 'desk_text'])
    await fixture.say(
      definition('text', { description: 'About another text.' }),
      definition('schema', { inputSchema: { type: 'object', properties: { path: { type: 'number' } } } }),
      definition('hint', { annotations: { readOnlyHint: false } }),
      definition('same'),
    )
    await expect.poll(() => seen.changes).toBeGreaterThan(0)
    await expect.poll(names).toEqual(['desk_same'])

    const why = 'The server changed it, and no person has reviewed it yet. See `quartermaster upstreams review desk`.'
    expect(await textOf(client, 'desk_text')).toContain(`TOOL_DISABLED: "desk_text" is not offered now. ${why}`)
    expect(await fixture.report()).toContainEqual({
      capability: 'desk',
      tool: 'text',
      calledAs: 'desk_text',
      state: 'unavailable',
      reason: why,
    })
    const called = await fixture.run('call', 'desk_text', '--even-if-disabled')
    expect(called).toMatchObject({ code: 5, stderr: expect.stringContaining('no person has reviewed it yet') })
    await expect.poll(() => fixture.status('desk')).toMatchObject({ state: 'up', tools: { offered: 1, held: 3 } })

    expect(await fixture.control('docs', { path: 'desk_text' })).toMatchObject({
      entries: [{ path: 'tool:desk_text', state: 'disabled', reason: why }],
    })

    const told = (await fixture.run('doctor')).stdout
    expect(told).toContain('3 definitions of "desk" are held back.')
    expect(told.match(/upstreams review desk/g)).toHaveLength(1)

    const { stdout } = await fixture.run('upstreams', 'review')
    expect(stdout).toMatch(/^desk tool:hint@[0-9a-f]{16} {2}changed$/m)
    expect(stdout).toContain('  description\n    - About text.\n    + About another text.\n')
    expect(stdout).toContain('  inputSchema.properties.path.type\n    - string\n    + number\n')
    expect(stdout).toContain('  annotations.readOnlyHint\n    - true\n    + false\n')

    const [, version] = /^desk (tool:text@\w+) /m.exec(stdout) ?? []
    expect(await fixture.run('upstreams', 'accept', 'desk', String(version))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('    + About another text.\n'),
    })
    await expect.poll(names).toEqual(['desk_same', 'desk_text'])
    expect(await textOf(client, 'desk_text', { path: 'a' })).toBe('{"path":"a"}')
    expect((await fixture.run('upstreams', 'accept', 'desk', '--all', '--yes')).code).toBe(0)
    await expect.poll(names).toEqual(['desk_hint', 'desk_same', 'desk_schema', 'desk_text'])
    expect(await fixture.review()).toEqual([])
  })

  it('stays away when it is rejected, until it changes; what was accepted is back at once', async () => {
    const fixture = await openListingFixture([definition('note'), definition('same')])
    const { client, names } = await watchingClient(fixture)
    await fixture.say(definition('note', { description: 'Another.' }), definition('same'))
    await expect.poll(names).toEqual(['desk_same'])
    expect((await fixture.run('upstreams', 'reject', 'desk', 'note')).stdout).toMatch(
      /✓ tool:note@\w+ of desk is rejected/,
    )
    expect(await fixture.review()).toMatchObject([{ name: 'note', state: 'rejected' }])
    expect(await textOf(client, 'desk_note')).toContain('It was looked at and refused.')

    await fixture.say(definition('note', { description: 'A third.' }), definition('same'))
    await expect.poll(fixture.review).toMatchObject([
      {
        name: 'note',
        state: 'changed',
        changes: [{ field: 'description', before: 'About note.', after: 'A third.' }],
      },
    ])
    expect(await names()).toEqual(['desk_same'])

    await fixture.say(definition('note'), definition('same'))
    await expect.poll(names).toEqual(['desk_note', 'desk_same'])
    expect(await fixture.review()).toEqual([])
  })

  it('can be taken back after it was accepted', async () => {
    const fixture = await openListingFixture([definition('note'), definition('same')])
    const { client, names } = await watchingClient(fixture)
    await fixture.say(definition('note', { description: 'Another.' }), definition('same'))
    await expect.poll(names).toEqual(['desk_same'])
    await fixture.run('upstreams', 'accept', 'desk', 'note', '--yes')
    await expect.poll(names).toEqual(['desk_note', 'desk_same'])
    const offered = await fixture.run('upstreams', 'review', 'desk', '--offered')
    expect(offered.stdout).toMatch(/^desk tool:note@\w{16} {2}offered$/m)
    expect(await fixture.run('upstreams', 'reject', 'desk', 'note')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/✓ tool:note@\w+ of desk is rejected/),
    })
    await expect.poll(names).toEqual(['desk_same'])
    expect(await textOf(client, 'desk_note')).toContain('It was looked at and refused.')
  })

  it('cannot be accepted by who has seen another version of it', async () => {
    const fixture = await openListingFixture([definition('note')])
    await fixture.say(definition('note', { description: 'Second.' }))
    await expect.poll(fixture.review).toHaveLength(1)
    const [second] = await fixture.review()
    await fixture.say(definition('note', { description: 'Third.' }))
    await expect.poll(async () => (await fixture.review())[0]?.hash).not.toBe(second?.hash)
    const late = await fixture.run('upstreams', 'accept', 'desk', `note@${second?.hash.slice(0, 8)}`, '--yes')
    expect(late).toMatchObject({ code: 10, stderr: expect.stringContaining('is not what you looked at any more') })
    expect(await fixture.status('desk')).toMatchObject({ tools: { offered: 0, held: 1 } })
  })

  it('is still held after a restart of the gateway', async () => {
    const fixture = await openListingFixture([definition('note'), definition('same')])
    await fixture.say(definition('note', { description: 'Another.' }), definition('same'))
    await expect.poll(fixture.review).toHaveLength(1)
    await fixture.up.stop()
    const again = await onFixture(fixture.dir)
    const { names } = await watchingClient(again)
    await expect.poll(names).toEqual(['desk_same'])
  })
})

describe('a tool that is added later', () => {
  it('waits for a person', async () => {
    const fixture = await openListingFixture([definition('note')])
    const { client, names } = await watchingClient(fixture)
    await fixture.say(definition('note'), definition('late'))
    await expect.poll(fixture.review).toMatchObject([{ name: 'late', state: 'new' }])
    expect(await names()).toEqual(['desk_note'])
    // What waits for review is known a moment before it is among the definitions.
    const refusal = () => textOf(client, 'desk_late').catch(String)
    await expect.poll(refusal).toContain('no person has reviewed it yet.')
    expect((await fixture.run('upstreams', 'accept', 'desk', 'late', '--yes')).code).toBe(0)
    await expect.poll(names).toEqual(['desk_late', 'desk_note'])
  })

  it('is offered at once where the configuration says so, and a changed one waits all the same', async () => {
    const fixture = await openListingFixture([definition('note')], { config: { newTools: 'offer' } })
    const { names } = await watchingClient(fixture)
    await fixture.say(definition('note'), definition('late'))
    await expect.poll(names).toEqual(['desk_late', 'desk_note'])
    await fixture.say(definition('note'), definition('late', { description: 'Another.' }))
    await expect.poll(names).toEqual(['desk_note'])
  })
})

describe('the tools of a server, however it is reached and whatever it speaks', () => {
  it.each<Way>([
    { transport: 'stdio', era: 'legacy' },
    { transport: 'stdio', era: 'modern' },
    { transport: 'http', era: 'legacy' },
    { transport: 'http', era: 'modern' },
  ])(
    'wait when they change or are added later, and are offered or refused as a person says ($transport, $era)',
    async way => {
      const { entry, say } = await listingBy(way, [definition('note'), definition('same')])
      const mcpServers = { desk: entry, open: { ...entry, newTools: 'offer' } }
      const fixture = await openFixture({ mcpServers })
      const { client, names, hasSeen } = await recordingClient(fixture, 'auto')
      await expect.poll(names).toEqual(['desk_note', 'desk_same', 'open_note', 'open_same'])
      expect(await fixture.status('desk')).toMatchObject(way)

      await say(definition('note', { description: 'Another.' }), definition('same'), definition('late'))
      await expect.poll(names).toEqual(['desk_same', 'open_late', 'open_same'])
      const changes = [{ field: 'description', before: 'About note.', after: 'Another.' }]
      const review = async () => (await fixture.run('upstreams', 'review', '--json')).json<ReviewItem[]>()
      expect(await review()).toMatchObject([
        { upstream: 'desk', name: 'late', state: 'new' },
        { upstream: 'desk', name: 'note', state: 'changed', changes },
        { upstream: 'open', name: 'note', state: 'changed', changes },
      ])
      expect(await textOf(client, 'open_note')).toContain('The server changed it, and no person has reviewed it yet.')
      expect(hasSeen('Another.')).toBe(false)

      expect((await fixture.run('upstreams', 'accept', 'desk', 'note', '--yes')).code).toBe(0)
      expect((await fixture.run('upstreams', 'reject', 'desk', 'late')).code).toBe(0)
      await expect.poll(names).toEqual(['desk_note', 'desk_same', 'open_late', 'open_same'])
      expect(await textOf(client, 'desk_note', { path: 'a' })).toBe('{"path":"a"}')
      expect(await textOf(client, 'desk_late')).toContain('It was looked at and refused.')
      expect(await review()).toMatchObject([
        { upstream: 'desk', name: 'late', state: 'rejected' },
        { upstream: 'open', name: 'note', state: 'changed' },
      ])
      expect(hasSeen('desk_late')).toBe(false)
    },
  )
})
