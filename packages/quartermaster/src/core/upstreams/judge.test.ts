import { describe, expect, it } from 'vitest'
import { sha256 } from '../../adapters/system/index.ts'
import type { PinRow, UpstreamFinding } from '../../contracts/index.ts'
import { runToEnd } from '../kernel/index.ts'
import { judge, LISTING_LIMITS, type Listing, offeredFromPins, type PinPolicy, readListing } from './index.ts'

const STRONG: UpstreamFinding = {
  rule: 'instruction',
  strength: 'strong',
  field: 'description',
  excerpt: '…',
  message: 'It steers.',
}
const WEAK: UpstreamFinding = { ...STRONG, strength: 'weak' }
const POLICY: PinPolicy = { newTools: 'review', findings: 'hold' }

/** A server that is looked at again and again. What its tools say decides what is found. */
function server(limits = LISTING_LIMITS) {
  let pins: readonly PinRow[] = []
  let now = 0
  const examined: string[] = []
  const see = (listing: Partial<Listing>, policy: Partial<PinPolicy> = {}) => {
    now++
    const seen = runToEnd(readListing('github', { server: {}, ...listing }, { digest: sha256, limits }))
    const findings = ({ name, text }: { name: string; text: string }) => {
      examined.push(name)
      return [...(text.includes('EVIL') ? [STRONG] : []), ...(text.includes('ODD') ? [WEAK] : [])]
    }
    const verdict = judge({
      upstream: 'github',
      seen,
      pins,
      policy: { ...POLICY, ...policy },
      findings,
      now,
      digest: sha256,
      limits,
    })
    pins = applied(pins, verdict)
    return verdict
  }
  const decide = (name: string, state: PinRow['state']) => {
    const cleared =
      state === 'accepted'
        ? { acceptedHash: null, acceptedDefinition: null, acceptedFindings: null, reworded: false }
        : {}
    pins = pins.map(pin =>
      pin.name === name ? { ...pin, ...cleared, state, decidedAt: now, decidedBy: 'owner' } : pin,
    )
  }
  return { see, decide, pins: () => pins, examined }
}

function applied(pins: readonly PinRow[], { writes }: ReturnType<typeof judge>): PinRow[] {
  const byId = new Map(pins.map(pin => [pin.id, pin]))
  for (const write of writes) {
    if (write.kind !== 'add') expect(byId.get(write.before.id)).toEqual(write.before)
    if (write.kind === 'drop') byId.delete(write.before.id)
    else byId.set(write.pin.id, write.pin)
  }
  return [...byId.values()]
}

const tool = (name: string, description = 'Does it.') => ({ name, description })
const offeredIn = ({ offered }: Pick<ReturnType<typeof judge>, 'offered'>) =>
  offered.filter(({ kind }) => kind === 'tool').map(({ name }) => name)
const heldIn = ({ held }: Pick<ReturnType<typeof judge>, 'held'>) => held.map(({ name, state }) => `${name}: ${state}`)

describe('a server that is seen for the first time', () => {
  it('offers everything', () => {
    const verdict = server().see({ tools: [tool('a'), tool('b')], prompts: [tool('p')] })
    expect(verdict.offered.map(({ kind, name }) => `${kind}:${name}`)).toEqual([
      'server:server',
      'tool:a',
      'tool:b',
      'prompt:p',
    ])
    expect(verdict.offered[1]?.value).toEqual(tool('a'))
    expect(verdict.held).toEqual([])
  })

  it('does not offer what seems to steer the model', () => {
    const verdict = server().see({ tools: [tool('a'), tool('b', 'EVIL')], server: { instructions: 'EVIL' } })
    expect(offeredIn(verdict)).toEqual(['a'])
    expect(heldIn(verdict)).toEqual(['server: suspicious', 'b: suspicious'])
    expect(verdict.held[1]?.reason).toContain('quartermaster upstreams review github')
  })

  it.each(['warn', 'allow'] as const)('offers that too when findings are to %s', findings => {
    const verdict = server().see({ tools: [tool('b', 'EVIL')] }, { findings })
    expect(offeredIn(verdict)).toEqual(['b'])
    expect(verdict.problems.map(({ severity, subject }) => `${severity} ${subject}`)).toEqual(
      findings === 'warn' ? ['warning tool:b'] : [],
    )
  })

  it('offers what is merely odd, with a warning', () => {
    const verdict = server().see({ tools: [tool('b', 'ODD')] })
    expect(offeredIn(verdict)).toEqual(['b'])
    expect(verdict.problems).toMatchObject([{ severity: 'warning', subject: 'tool:b', field: 'description' }])
  })
})

describe('a server that is seen again', () => {
  it('is written down again only when something is different', () => {
    const { see } = server()
    see({ tools: [tool('a')] })
    expect(see({ tools: [tool('a')] }).writes).toEqual([])
  })

  it('does not offer a tool that was changed, not even as it was', () => {
    const { see } = server()
    see({ tools: [tool('a'), tool('b')] })
    const verdict = see({ tools: [tool('a', 'Does more.'), tool('b')] })
    expect(offeredIn(verdict)).toEqual(['b'])
    expect(heldIn(verdict)).toEqual(['a: changed'])
  })

  it('offers it again at once when it is as it was', () => {
    const { see } = server()
    see({ tools: [tool('a')] })
    see({ tools: [tool('a', 'Does more.')] })
    see({ tools: [tool('a', 'Does much more.')] })
    expect(offeredIn(see({ tools: [tool('a')] }))).toEqual(['a'])
  })

  it('keeps what was accepted beside what is new, over several changes', () => {
    const { see, pins } = server()
    see({ tools: [tool('a')] })
    see({ tools: [tool('a', '2')] })
    see({ tools: [tool('a', '3')] })
    expect(pins().find(({ name }) => name === 'a')).toMatchObject({
      definition: JSON.stringify(tool('a', '3')),
      acceptedDefinition: JSON.stringify(tool('a')),
      seenAt: 3,
    })
  })

  it('has new tools wait, unless they are to be offered', () => {
    const { see } = server()
    see({ tools: [tool('a')] })
    expect(heldIn(see({ tools: [tool('a'), tool('b')] }))).toEqual(['b: new'])
    const eager = server()
    eager.see({ tools: [] }, { newTools: 'offer' })
    const verdict = eager.see({ tools: [tool('b'), tool('c', 'EVIL')] }, { newTools: 'offer' })
    expect(offeredIn(verdict)).toEqual(['b'])
    expect(heldIn(verdict)).toEqual(['c: suspicious'])
  })

  it('has changed ones wait also where new ones are offered', () => {
    const { see } = server()
    see({ tools: [tool('a')] }, { newTools: 'offer' })
    expect(heldIn(see({ tools: [tool('a', '2')] }, { newTools: 'offer' }))).toEqual(['a: changed'])
  })

  it('does not offer what is gone, and offers it at once when it is back', () => {
    const { see } = server()
    see({ tools: [tool('a'), tool('b')] })
    expect(offeredIn(see({ tools: [tool('a')] }))).toEqual(['a'])
    expect(offeredIn(see({ tools: [tool('a'), tool('b')] }))).toEqual(['a', 'b'])
  })

  it('is known by what it had, for agents that name it, whatever was thought of that', () => {
    const { see, pins } = server()
    see({ tools: [tool('a'), tool('b', 'EVIL'), tool('c')], prompts: [tool('p')] })
    expect(see({ tools: [tool('c')], prompts: [] }).gone).toEqual(['a', 'b'])
    expect(runToEnd(offeredFromPins('github', pins(), POLICY)).gone).toEqual(['a', 'b'])
    const later = see({ prompts: [] })
    expect([offeredIn(later), later.gone]).toEqual([['c'], ['a', 'b']])
  })

  it('says whether a server lists more than is used of it', () => {
    const { see } = server({ ...LISTING_LIMITS, definitions: 1 })
    expect(see({ tools: [tool('a')] })).not.toHaveProperty('isCut')
    expect(see({ tools: [tool('a'), tool('b')] })).toMatchObject({ isCut: true })
    expect(see({ tools: [tool('a')], cut: ['tools'] })).toMatchObject({ isCut: true })
  })

  it('offers as before what it could not list this time, and has that told where it was anything but data', () => {
    const { see } = server()
    const first = see({ tools: [tool('a')], resources: [{ uri: 'x://1', name: 'One' }], prompts: [tool('p')] })
    const unlisted = see({ tools: [tool('a')] })
    expect(unlisted.offered.map(({ name }) => name)).toEqual(expect.arrayContaining(['p', 'x://1']))
    expect([first.problems, unlisted.problems]).toEqual([
      [],
      [expect.objectContaining({ message: expect.stringContaining('"github" does not list its prompts.') })],
    ])
    expect([first.unlisted, unlisted.unlisted]).toEqual([undefined, ['prompts']])
    const listed = see({ tools: [tool('a')], prompts: [] })
    expect(listed.offered.map(({ name }) => name)).not.toContain('p')
    expect(listed.problems).toEqual([])
  })

  it('misses tools that a server does not list when it is first seen, and nothing else', () => {
    const { see } = server()
    const unlisted = see({ resources: [] })
    expect(unlisted.unlisted).toEqual(['tools'])
    expect(unlisted.problems).toEqual([
      expect.objectContaining({ message: expect.stringContaining('"github" does not list its tools.') }),
    ])
    // They are its first, however late they come.
    expect(offeredIn(see({ tools: [tool('a')] }))).toEqual(['a'])
  })

  it('needs nobody for its resources unless they seem to steer the model', () => {
    const { see } = server()
    see({ resources: [{ uri: 'x://1', name: 'One' }] })
    const resources = [
      { uri: 'x://1', name: 'One', size: 2 },
      { uri: 'x://2', name: 'Two' },
      { uri: 'x://3', name: 'EVIL' },
    ]
    const verdict = see({ resources })
    expect(verdict.offered.map(({ name }) => name)).toEqual(['server', 'x://1', 'x://2'])
    expect(heldIn(verdict)).toEqual(['x://3: suspicious'])
  })

  it('is examined only where it is new or changed', () => {
    const { see, examined } = server()
    see({ tools: [tool('a'), tool('b')] })
    examined.length = 0
    see({ tools: [tool('a'), tool('b', '2'), tool('c')] })
    see({ tools: [tool('a'), tool('b', '2'), tool('c')] })
    expect(examined).toEqual(['b', 'c'])
  })
})

describe('a decision', () => {
  it('stands while the definition stays the same', () => {
    const { see, decide } = server()
    see({ tools: [tool('a')] })
    see({ tools: [tool('a', '2'), tool('b')] })
    decide('a', 'accepted')
    decide('b', 'rejected')
    const verdict = see({ tools: [tool('a', '2'), tool('b')] })
    expect(offeredIn(verdict)).toEqual(['a'])
    expect(heldIn(verdict)).toEqual(['b: rejected'])
  })

  it('is asked for again when it changes', () => {
    const { see, decide } = server()
    see({ tools: [tool('a')] })
    see({ tools: [tool('a', '2')] })
    decide('a', 'rejected')
    expect(heldIn(see({ tools: [tool('a', '2')] }))).toEqual(['a: rejected'])
    expect(heldIn(see({ tools: [tool('a', '3')] }))).toEqual(['a: changed'])
    expect(offeredIn(see({ tools: [tool('a')] }))).toEqual(['a'])
  })

  it('ends the warning about what was accepted by a person', () => {
    const { see, decide } = server()
    see({ tools: [tool('a', 'EVIL')] })
    decide('a', 'accepted')
    expect(see({ tools: [tool('a', 'EVIL')] }).problems).toEqual([])
  })

  it('is not needed any more where a policy was relaxed, and not again where one was tightened', () => {
    const { see } = server()
    see({ tools: [tool('a', 'EVIL')] })
    expect(offeredIn(see({ tools: [tool('a', 'EVIL')] }, { findings: 'allow' }))).toEqual(['a'])
    expect(offeredIn(see({ tools: [tool('a', 'EVIL')] }))).toEqual(['a'])
  })
})

describe('what was held back or refused', () => {
  const EVIL = tool('a', 'EVIL')
  const other = tool('a', 'Does it kindly.')
  type Step = 'reject' | (ReturnType<typeof tool> | undefined)

  it.each<[string, Step[]]>([
    ['it is put in other words', [EVIL, other]],
    ['it is looked at again in other words', [EVIL, other, other]],
    ['it is put in other words again and again', [EVIL, other, EVIL, tool('a', '3')]],
    ['it goes and comes in other words', [EVIL, undefined, other]],
    ['it was refused and is put in other words', [EVIL, 'reject', other]],
    ['it was refused, goes and comes in other words', [EVIL, 'reject', undefined, other]],
    ['it was offered, then refused, and goes through other words', [other, 'reject', tool('a', '2'), other]],
  ])('is not offered because %s', (_how, steps) => {
    for (const kind of ['tools', 'prompts', 'templates', 'resources'] as const)
      for (const newTools of ['review', 'offer'] as const) {
        const { see, decide, pins } = server()
        const listed = (step: ReturnType<typeof tool>) => ({ ...step, uri: 'a', uriTemplate: 'a' })
        let last: ReturnType<typeof see> | undefined
        for (const step of steps)
          if (step === 'reject') decide('a', 'rejected')
          else last = see({ [kind]: step ? [listed(step)] : [] }, { newTools })
        expect([kind, newTools, last?.offered.map(({ name }) => name)]).toEqual([kind, newTools, ['server']])
        expect(last?.held).toMatchObject([{ name: 'a', state: 'new' }])
        decide('a', 'accepted')
        expect(runToEnd(offeredFromPins('github', pins(), POLICY)).offered).toHaveLength(2)
      }
  })

  it('is offered as soon as a policy lets it, if it is what it was', () => {
    const { see } = server()
    see({ tools: [tool('a')] })
    see({ tools: [tool('a'), tool('b'), tool('c')] })
    const verdict = see({ tools: [tool('a'), tool('b'), tool('c', '2')] })
    expect(heldIn(verdict)).toEqual(['b: new', 'c: new'])
    expect(offeredIn(see({ tools: [tool('a'), tool('b'), tool('c', '2')] }, { newTools: 'offer' }))).toEqual(['a', 'b'])
  })

  it('is told of as before when it is back, unless a person has accepted it', () => {
    const { see, decide } = server()
    const told = ({ problems }: ReturnType<typeof see>) => problems.map(({ subject }) => subject)
    see({ tools: [tool('a', 'ODD')] })
    see({ tools: [tool('a')] })
    expect(told(see({ tools: [tool('a', 'ODD')] }))).toEqual(['tool:a'])
    decide('a', 'accepted')
    see({ tools: [tool('a')] })
    expect(told(see({ tools: [tool('a', 'ODD')] }))).toEqual([])
  })
})

describe('a server that is down', () => {
  it('offers what it offered last', () => {
    const { see, pins } = server()
    see({ tools: [tool('a'), tool('b'), tool('c')] })
    see({ tools: [tool('a'), tool('b', '2'), tool('d')] })
    const verdict = runToEnd(offeredFromPins('github', pins(), POLICY))
    expect(offeredIn(verdict)).toEqual(['a'])
    expect(heldIn(verdict)).toEqual(['b: changed', 'd: new'])
  })
})

describe('the pins of one server', () => {
  const namesIn = (pins: readonly PinRow[]) => pins.map(({ name }) => name).toSorted()

  it('are bounded, those of what is gone longest going first', () => {
    const { see, pins } = server({ ...LISTING_LIMITS, definitions: 4, names: 0 })
    see({ tools: [tool('a')] }, { newTools: 'offer' })
    for (const name of ['b', 'c', 'd', 'e']) see({ tools: [tool(name)] }, { newTools: 'offer' })
    expect(namesIn(pins())).toEqual(['c', 'd', 'e', 'server'])
  })

  it('lose first what nobody had accepted', () => {
    const { see, pins } = server({ ...LISTING_LIMITS, definitions: 4 })
    see({ tools: [tool('a')] })
    for (const name of ['b', 'c', 'd']) see({ tools: [tool(name)] })
    expect(pins().map(({ name }) => name)).toEqual(['server', 'a', 'c', 'd'])
  })

  const FLOODED = { ...LISTING_LIMITS, definitions: 3, names: 3 }
  const flood = [tool('y'), tool('z')]

  it('keep the names of what was decided about where there is no room for more', () => {
    const { see, pins, decide } = server(FLOODED)
    see({ tools: [tool('a'), tool('b')] })
    expect(see({ tools: flood }).gone).toEqual(['a', 'b'])
    expect(pins().find(({ name }) => name === 'a')).toMatchObject({ definition: '{}', listed: false })
    expect(runToEnd(offeredFromPins('github', pins(), POLICY)).gone).toEqual(['a', 'b'])
    expect(see({ tools: flood }).writes).toEqual([])
    const back = see({ tools: [tool('a'), tool('b', '2')] })
    expect([back.offered[1]?.value, heldIn(back)]).toEqual([tool('a'), ['b: changed']])
    expect(pins().find(({ name }) => name === 'a')).toMatchObject({ definition: JSON.stringify(tool('a')) })
    decide('b', 'rejected')
    see({ tools: flood })
    expect(offeredIn(see({ tools: [tool('b')] }))).toEqual(['b'])
  })

  it('keep no more of these than there may be, what was refused before what passed by itself', () => {
    const { see, decide, pins } = server({ ...FLOODED, names: 2 })
    const lists = (...tools: string[]) => see({ tools: tools.map(name => tool(name)) }, { newTools: 'offer' })
    lists('a')
    lists('b')
    decide('b', 'rejected')
    for (const name of ['c', 'd', 'e', 'f']) lists(name, `${name}2`)
    expect(namesIn(pins())).toEqual(['a', 'b', 'f', 'f2', 'server'])
    expect(namesIn(pins().filter(({ definition }) => definition === '{}'))).toEqual(['a', 'b', 'server'])
  })

  it.each<[string, string, PinRow['state'] | undefined]>([
    ['refused', 'Does it.', 'rejected'],
    ['held back', 'EVIL', undefined],
  ])('keep that something was %s through a flood of others', (_what, text, state) => {
    for (const kind of ['tools', 'resources'] as const) {
      const { see, decide } = server(FLOODED)
      const listed = (description: string) => [{ ...tool('a', description), uri: 'a' }]
      see({ [kind]: listed(text), prompts: [] }, { newTools: 'offer' })
      if (state) decide('a', state)
      see({ [kind]: [], prompts: flood }, { newTools: 'offer' })
      const verdict = see({ [kind]: listed('Does it kindly.'), prompts: [] }, { newTools: 'offer' })
      expect([kind, heldIn(verdict)]).toEqual([kind, ['a: new']])
    }
  })

  it('forget resources that nobody refused: those come and go', () => {
    const { see, pins } = server(FLOODED)
    see({ resources: [{ uri: 'x://1', name: 'One' }] })
    see({ resources: [], tools: flood })
    expect(namesIn(pins())).toEqual(['server', 'y', 'z'])
  })
})
