import { describe, expect, it } from 'vitest'
import { createHub, simpleCapability, simplePrompt, simpleTool } from '../../testing/hub.ts'
import { registerOp } from '../catalogue/index.ts'
import { createDocs, fewOfEach, withIncludes } from './index.ts'

interface Written {
  readonly front?: object
  readonly body?: string
}

/** The body begins at line 5 of its file; all fields are on line 2. */
const LINES = { body: 5, fields: new Proxy({}, { get: () => 2 }) }

const ECHO = registerOp('op.test.echo', { short: 'Echoes.', mutates: false, handler: () => 'e' })

const DIRECTIONS = { kind: 'directions', summary: 'S.', whenToUse: 'W.', command: 'go' }

/** The problems of these units, in a project with these files. */
async function wrongWith(
  units: Record<string, Written>,
  files: readonly string[] = [],
  { isOffered = true, held = [] }: { isOffered?: boolean; held?: readonly string[] } = {},
): Promise<string[]> {
  const written = Object.entries(units).map(([path, { front = {}, body = '' }]) => [
    `knowledge/${path}.md`,
    {
      written: [
        { path, front: 'op' in front ? front : { kind: 'concept', title: path, ...front }, body, lines: LINES },
      ],
    },
  ])
  const withheld = held.map(name => ({ name, reason: 'It waits for a person.' }))
  const main = simpleCapability('main', [simpleTool('send_mail')], { prompts: [simplePrompt('greet')], withheld })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [main], ops: [ECHO] }, ...Object.fromEntries(written) },
  })
  expect(hub.catalogue.problems()).toEqual([])
  const problems = await createDocs({ now: () => 0, breathe: async () => {} }).check(hub.catalogue.current(), {
    files: { exists: async path => files.includes(path) },
    maxResultBytes: 262_144,
    isOffered: () => isOffered,
  })
  return fewOfEach(problems).map(({ severity, where, message }) => `${severity} ${where} ${message}`)
}

describe('checking the docs', () => {
  it('finds nothing wrong with valid units', async () => {
    const units = {
      'guides/go': {
        front: { ...DIRECTIONS, tools: ['send_mail'], parents: ['people'], seeAlso: ['people'], aliases: ['gone'] },
        body: '{{include: people}}\n\n[a](../people.md#who-is-who) [b](#who-is-who) [c](https://x.example/#y) [d](../../LICENSE) `[e](nowhere.md)`',
      },
      people: { body: '# Who is who?\n\n```\n[f](nowhere.md)\n{{include: missing}}\n```' },
    }
    expect(await wrongWith(units, ['LICENSE'])).toEqual([])
  })

  it('finds an include of an unknown unit, with the line', async () => {
    expect(await wrongWith({ people: {}, go: { body: 'A.\n\n{{include: peopel}}' } })).toEqual([
      'error knowledge/go.md:7 It is not included: there is no unit "peopel".',
    ])
  })

  it('finds units that include themselves, and reports each line once', async () => {
    const units = { a: { body: '{{include: b}}' }, b: { body: '{{include: a}}' }, c: { body: '{{include: a}}' } }
    expect(await wrongWith(units)).toEqual([
      'error knowledge/a.md:5 It is not included: "b" includes itself: b → a → b.',
      'error knowledge/b.md:5 It is not included: "a" includes itself: a → b → a.',
    ])
  })

  it.each([
    [
      'too much',
      { a: { body: '{{include: b}}\n'.repeat(3) }, b: { body: 'x'.repeat(100_000) } },
      /longer than 196608 bytes/,
    ],
    ['too many', { a: { body: '{{include: b}}\n'.repeat(201) }, b: { body: 'x' } }, /more than 200 includes/],
    [
      'too deep',
      Object.fromEntries(
        Array.from({ length: 11 }, (_, i) => [`u${i}`, { body: `{{include: u${i + 1}}}` }]).concat([
          ['u11', { body: 'x' }],
        ]),
      ),
      /more than 8 includes deep/,
    ],
  ])('finds what would include %s', async (_what, units, message) => {
    const found = await wrongWith(units)
    expect(found.length).toBeGreaterThan(0)
    for (const one of found) expect(one).toMatch(message)
  })

  it('limits the text of failing includes, and the problems of one file', async () => {
    const long = 'long'.repeat(40)
    const lines = `{{include: ${long}}}\n`.repeat(18_000 / 20)
    const units = { [long]: { body: lines }, b: { body: lines.repeat(20).slice(0, 180_000) } }
    const found = await wrongWith(units)
    expect(found.length).toBeLessThan(50)
    expect(found.at(-1)).toMatch(/more things that are wrong/)
    const { text } = withIncludes({ path: long, body: lines }, () => ({ path: long, body: lines }))
    expect(text.length).toBeLessThan(250_000)
    expect(text.split('\n').filter(line => line.startsWith('[Not included')).length).toBeLessThan(110)
  })

  it('finds two includes on one line', async () => {
    expect(await wrongWith({ a: {}, b: {}, go: { body: '{{include: a}} {{include: b}}' } })).toEqual([
      'warning knowledge/go.md:5 An include stands on a line of its own; here it is shown as it is.',
    ])
  })

  it('finds directions that are too long for one answer', async () => {
    const units = {
      a: { body: 'ä'.repeat(60_000) },
      go: { front: DIRECTIONS, body: `${'"'.repeat(80_000)}` },
      gone: { front: { ...DIRECTIONS, command: 'gone' }, body: `${'"'.repeat(75_000)}\n{{include: a}}` },
      well: { front: { ...DIRECTIONS, command: 'well' }, body: `Do it.\n{{include: a}}` },
    }
    const found = await wrongWith(units)
    expect(found).toEqual([expect.stringMatching(/error knowledge\/gone.md .* of \d+ bytes, and 262144 is the most/)])
  })

  it('finds directions that no agent is offered, with the tools that it would need', async () => {
    const go = { front: { ...DIRECTIONS, tools: ['send_mail'] } }
    expect(await wrongWith({ go }, [], { isOffered: false })).toEqual([
      'warning knowledge/go.md:2 No agent is offered these directions: none has all of "send_mail" (capability "main").',
    ])
  })

  it('says why a tool is held back', async () => {
    const go = { front: { ...DIRECTIONS, tools: ['old_mail'] } }
    expect(await wrongWith({ go }, [], { held: ['old_mail'] })).toEqual([
      'warning knowledge/go.md:2 It names the tool "old_mail", which is held back: It waits for a person.',
    ])
  })

  it('finds links to no file, to no heading, and out of the project', async () => {
    const body =
      '[a](gone.md)\n[b](../README.md)\n[c](#nothing)\n[d](people.md#missing)\n[e](../../../etc/passwd)\n\n[f]: gone.png'
    expect(await wrongWith({ people: { body: '# Ada' }, go: { body } }, ['README.md'])).toEqual([
      'warning knowledge/go.md:5 The link "gone.md" leads to no file.',
      'warning knowledge/go.md:7 The link "#nothing" leads to no heading of "go".',
      'warning knowledge/go.md:8 The link "people.md#missing" leads to no heading of "people".',
      'warning knowledge/go.md:9 The link "../../../etc/passwd" leads out of the project.',
      'warning knowledge/go.md:11 The link "gone.png" leads to no file.',
    ])
  })

  it('finds tools, parents and units to see also that do not exist, and suggests the closest', async () => {
    const go = { front: { ...DIRECTIONS, tools: ['send_mial'], parents: ['peple'], seeAlso: ['elsewhere'] } }
    expect(await wrongWith({ people: {}, go })).toEqual([
      'warning knowledge/go.md:2 It names "peple", and there is nothing there. Did you mean "people"?',
      'warning knowledge/go.md:2 It names "elsewhere", and there is nothing there.',
      'warning knowledge/go.md:2 It names the tool "send_mial", which does not exist. Did you mean "send_mail"? No agent is offered these directions.',
    ])
  })

  it('accepts paths of tools and capabilities, and of units with an ending or slashes', async () => {
    const front = { parents: ['capability:main'], seeAlso: ['tool:send_mail', 'capability:main'] }
    expect(
      await wrongWith({ people: {}, go: { front, body: '{{include: people.md}}\n{{include: /people/}}' } }),
    ).toEqual([])
    expect(await wrongWith({ go: { front: { seeAlso: ['tool:send_mial'] } } })).toEqual([
      'warning knowledge/go.md:2 It names "tool:send_mial", and there is nothing there. Did you mean "tool:send_mail"?',
    ])
  })

  it('finds an include beside other words, and ignores code', async () => {
    const body =
      'See {{include: people}} first.\n\n- {{include: people}}\n\nAs `{{include: x}}`:\n\n    {{include: missing}}'
    const message = 'An include stands on a line of its own; here it is shown as it is.'
    expect(await wrongWith({ people: {}, go: { body } })).toEqual([
      `warning knowledge/go.md:5 ${message}`,
      `warning knowledge/go.md:7 ${message}`,
    ])
  })

  it('finds a command of a unit that is not directions', async () => {
    expect(await wrongWith({ go: { front: { command: 'go' } } })).toEqual([
      'warning knowledge/go.md:2 Only directions are called by a command; this is of kind "concept".',
    ])
  })

  it('reads links in angle brackets, with a query, and with brackets in them', async () => {
    const body = '[a](<my file.md>) [b](b.md?x=1#top) [c](a_(b).md) ![d](<e f.png> "D") [e](b.md "B (b)")'
    expect(await wrongWith({ go: { body } }, ['knowledge/my file.md', 'knowledge/b.md', 'knowledge/a_(b).md'])).toEqual(
      ['warning knowledge/go.md:5 The link "e f.png" leads to no file.'],
    )
  })

  it.each([
    ['an underlined heading', '[a](#who-is-who)\n\nWho is who\n---'],
    ['the second of two headings', '[a](#dup-1) [b](#dup)\n\n# Dup\n\n## dup'],
    ['what has a name in HTML', '[a](#x) [b](#y)\n\n<a name="x"></a> <h2 class="c" id=y>Y</h2>'],
    ['an anchor in percent signs', '[a](#caf%C3%A9)\n\n# Café'],
    ['a heading with a link', '[a](#see-the-people)\n\n# See [the people](https://x.example/)'],
    ['a heading with code and emphasis', '[a](#use-read_file-now)\n\n# Use `read_file` _now_!'],
    ['a heading with accents in two characters', '[a](#e\u0301te\u0301)\n\n# été'],
    ['a link in indented code', 'As:\n\n    [a](nowhere.md)'],
    ['a link in a comment', '<!-- [a](nowhere.md)\n[b](nowhere.md)\n```\n--> `x`'],
    ['a note at the foot', '[^1]: See what is said.'],
    ['headings in quotes and list items', '> ## X\n\n- ## Y\n- Z\n  ---\n\n[a](#x) [b](#y) [c](#z)'],
    ['an include in code or in a comment', 'A ``{{include: `x`}}`` and <!-- {{include: x}} -->.'],
    ['a heading with a named letter', '[a](#a--b)\n\n## A &mdash; B'],
    ['the beginning, lines, and either case', '[a](#top) [b](go.md#L3) [c](go.md#L3-L5) [d](#Who)\n\n# Who'],
    ['a placeholder', '[a]({{base}}/nowhere.md) [b]({x}.md)'],
  ])('follows %s as Markdown has it', async (_what, body) => {
    expect(await wrongWith({ go: { body } })).toEqual([])
  })

  it.each([
    ['in a list', '- a\n    - [a](nowhere.md)\n'],
    ['around a picture', '[![p](people.md)](nowhere.md)'],
    ['behind what looks like a comment', 'Write <!-- and then\n[a](nowhere.md)'],
    ['in a quote', '> a\n>\n> - [a](nowhere.md)'],
  ])('finds a link %s that leads nowhere', async (_what, body) => {
    expect(await wrongWith({ people: {}, go: { body } })).toEqual([
      expect.stringContaining('The link "nowhere.md" leads to no file.'),
    ])
  })

  it.each([
    ['<!--', '[a](people.md)\n\n<!-- x\n\n[a](nowhere.md)'],
    ['```', '[a](people.md)\n\n```js\n\n[a](nowhere.md)'],
    ['<pre>', '[a](people.md)\n\n<pre>\n\n[a](nowhere.md)'],
  ])('finds a "%s" that never ends', async (mark, body) => {
    expect(await wrongWith({ people: {}, go: { body } })).toEqual([
      `warning knowledge/go.md:7 "${mark}" begins here and never ends: nothing below it is read as Markdown.`,
    ])
  })

  it('reads includes and headings of long lines in linear time', async () => {
    const long = (part: string) => part.repeat(100_000 / part.length)
    const lines = [' ', '#', '`', '{{', '{{include:', '> ', '1. ', '/'].flatMap(part => [
      `{{include:${long(part)}x`,
      `# a${long(part)}b`,
      long(part),
    ])
    const body = `{{include: a${long('/')}b}}\n${lines.join('\n\n')}`
    const { faults } = withIncludes({ path: 'go', body }, () => undefined)
    expect(faults).toHaveLength(1)
  })

  it('checks the texts of declared tools too', async () => {
    const front = { schema: 1, op: 'op.test.echo', name: 'echo', section: 'hall', short: 'Echoes.' }
    expect(await wrongWith({ 'main/echo': { front, body: '[a](nowhere.md) [b](#c)\n{{include: people}}' } })).toEqual([
      'warning knowledge/main/echo.md:5 The link "#c" leads to no heading of "echo".',
      'warning knowledge/main/echo.md:5 The link "nowhere.md" leads to no file.',
      'warning knowledge/main/echo.md:6 The text of a tool includes nothing; the line is shown as it is.',
    ])
  })

  it('finds a unit that lies below itself', async () => {
    const units = {
      a: { front: { parents: ['b'] } },
      b: { front: { parents: ['a'] } },
      c: { front: { parents: ['a'] } },
    }
    expect(await wrongWith(units)).toEqual([
      'warning knowledge/a.md:2 It lies below itself.',
      'warning knowledge/b.md:2 It lies below itself.',
    ])
  })

  it('finds two directions with one command, and a command that a capability has', async () => {
    const units = {
      a: { front: DIRECTIONS },
      b: { front: DIRECTIONS },
      c: { front: { ...DIRECTIONS, command: 'greet' } },
    }
    expect(await wrongWith(units)).toEqual([
      'error knowledge/b.md:2 "go" is the command of "a" already.',
      'warning knowledge/c.md:2 "greet" is also a prompt of a capability, which agents with that capability get instead.',
    ])
  })

  it('finds an alias that another unit or a tool has', async () => {
    const units = { a: { front: { aliases: ['x', 'send_mail'] } }, b: { front: { aliases: ['X', 'a'] } } }
    expect(await wrongWith(units)).toEqual([
      'warning knowledge/a.md:2 "send_mail" is the name of a tool.',
      'warning knowledge/b.md:2 "X" is also what "a" is called.',
      'warning knowledge/b.md:2 "a" is also what "a" is called.',
    ])
  })
})
