import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentConfig, Progress } from '../../../contracts/index.ts'
import { createHub, DOWN, failureOf, fakeService, simpleCapability, simpleTool, UP } from '../../../testing/hub.ts'
import { defineForwardingTool, defineTool } from '../../catalogue/index.ts'

const relay = defineForwardingTool({
  name: 'relay',
  short: 'Passes on.',
  input: z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) }),
  forward: ({ name, arguments: input }) => ({ tool: name, input }),
})

const shred = defineTool({
  name: 'shred',
  short: 'Shreds a paper.',
  input: {
    type: 'object',
    properties: { paper: { type: 'string' } },
    required: ['paper'],
    additionalProperties: false,
  },
  output: { type: 'object', properties: { shredded: { type: 'string' } }, required: ['shredded'] },
  consent: ['papers.shred'],
  requires: ['shredder'],
  async handler({ paper }, context) {
    context.progress({ progress: 1, message: paper as string })
    const answer = await context.ask({ message: `Really ${paper as string}?` })
    return { shredded: `${paper as string}: ${answer.action}` }
  },
})

const consentOperations = [{ name: 'papers.shred', reason: 'Destroys a paper.', weight: 'high' as const }]

async function office(agent: Partial<AgentConfig> = {}) {
  const shredder = fakeService('shredder', UP)
  const tools = [relay, shred, simpleTool('quick')]
  const hub = await createHub({
    units: {
      office: {
        capabilities: [
          simpleCapability('office', tools, { consentOperations }),
          simpleCapability('other', [simpleTool('secret')]),
        ],
        dependencies: [shredder.dependency],
      },
    },
    agents: { ada: { capabilities: { office: {} }, ...agent } },
  })
  return { hub, shredder }
}

const ALLOWED = { consent: { allow: ['papers.shred'] } }

describe('a call through a forwarding tool', () => {
  it('is a call of the target in result, progress, questions, record and audit', async () => {
    const { hub } = await office(ALLOWED)
    const seen: Progress[] = []
    const running: string[] = []
    const answer = await hub.callAs(
      'ada',
      'relay',
      { name: 'shred', arguments: { paper: 'draft' } },
      {
        onProgress: progress => seen.push(progress),
        ask: async () => {
          running.push(...hub.operations.running().map(({ record }) => record.tool))
          return { action: 'accept' }
        },
      },
    )
    expect(answer.result.structuredContent).toEqual({ shredded: 'draft: accept' })
    expect(seen).toEqual([{ progress: 1, message: 'draft' }])
    expect(running).toEqual(['shred'])
    const direct = await hub.callAs('ada', 'shred', { paper: 'draft' }, { ask: async () => ({ action: 'accept' }) })
    expect(direct.result).toEqual(answer.result)
    expect(hub.audit).toMatchObject([
      { tool: 'shred', outcome: 'succeeded', mutates: true, consent: { by: 'file' } },
      { tool: 'shred', outcome: 'succeeded', mutates: true, consent: { by: 'file' } },
    ])
    expect(hub.audit[0]?.digest).toBe(hub.audit[1]?.digest)
  })

  it('is checked against the schemas of both', async () => {
    const { hub } = await office(ALLOWED)
    const failure = async (input: unknown) => failureOf(hub.callAs('ada', 'relay', input))
    expect(await failure({ nam: 'shred' })).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('relay'),
    })
    const wrong = { name: 'shred', arguments: { paper: 7 } }
    expect(await failure(wrong)).toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining('"shred"') })
    expect(hub.audit.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['relay', 'notRun'],
      ['shred', 'notRun'],
    ])
  })

  it('needs the consent of the target, for exactly its arguments', async () => {
    const { hub } = await office()
    const input = { name: 'shred', arguments: { paper: 'draft' } }
    const refused = await failureOf(hub.callAs('ada', 'relay', input, { unallowed: 'refuse' }))
    expect(refused).toMatchObject({ code: 'CONSENT_REQUIRED', details: { tool: 'shred' } })
    const { digest } = (refused as { details: { digest: string } }).details
    const consented = { operations: ['papers.shred'], digest }
    const ask = async () => ({ action: 'decline' as const })
    const other = { name: 'shred', arguments: { paper: 'will' } }
    await expect(hub.callAs('ada', 'relay', other, { consented, ask, unallowed: 'refuse' })).rejects.toMatchObject({
      code: 'CONSENT_REQUIRED',
    })
    const answer = await hub.callAs('ada', 'relay', input, { consented, ask })
    expect(answer.result.structuredContent).toEqual({ shredded: 'draft: decline' })
  })

  it('waits for what the target needs, or is refused with its reason', async () => {
    const { hub, shredder } = await office(ALLOWED)
    shredder.verdict = DOWN
    hub.health.reportFailure('shredder', 'jammed')
    await hub.clock.advance(11_000)
    const input = { name: 'shred', arguments: { paper: 'draft' } }
    await expect(hub.callAs('ada', 'relay', input)).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('"shred" is disabled'),
    })
    shredder.verdict = UP
    await hub.health.recheck('shredder', { force: true })
    const ask = async () => ({ action: 'accept' as const })
    expect((await hub.callAs('ada', 'relay', input, { ask })).result.isError).toBeUndefined()
  })

  it('does not reach what is not granted, and says so as for any call', async () => {
    const { hub } = await office()
    const direct = await failureOf(hub.callAs('ada', 'secret'))
    expect(await failureOf(hub.callAs('ada', 'relay', { name: 'secret' }))).toEqual(direct)
    expect(hub.audit.map(({ tool, code }) => [tool, code])).toEqual([
      ['secret', 'TOOL_NOT_FOUND'],
      ['secret', 'TOOL_NOT_FOUND'],
    ])
  })

  it('does not go in circles', async () => {
    const { hub } = await office()
    const input = { name: 'relay', arguments: { name: 'quick' } }
    await expect(hub.callAs('ada', 'relay', input)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('can be looked through before it is made', async () => {
    const { hub } = await office()
    const session = hub.agents.session('ada')
    const target = (tool: string, input: unknown) => hub.calls.target({ session, tool, input }).tool.name
    expect(target('quick', {})).toBe('quick')
    expect(target('relay', { name: 'shred' })).toBe('shred')
    expect(() => target('relay', { name: 'secret' })).toThrow(expect.objectContaining({ code: 'TOOL_NOT_FOUND' }))
    expect(() => target('relay', {})).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }))
  })
})

describe('a forwarding tool', () => {
  it('has no handler and no output of its own', async () => {
    const both = { ...relay, name: 'both', handler: () => 'x' }
    const promising = { ...relay, name: 'promising', output: { type: 'object' } }
    const hub = await createHub({
      units: { office: { capabilities: [simpleCapability('office', [both, promising, relay])] } },
    })
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['relay'])
    expect(hub.catalogue.problems().map(problem => problem.field)).toEqual(['forward', 'forward'])
  })

  it('checks its input at once, because others have to look through it', async () => {
    const slow = defineForwardingTool({
      name: 'slow',
      short: 'Passes on, after asking somewhere.',
      input: z.object({ name: z.string() }).refine(async () => true),
      forward: ({ name }) => ({ tool: name, input: {} }),
    })
    const hub = await createHub({
      units: { office: { capabilities: [simpleCapability('office', [slow, simpleTool('quick')])] } },
      agents: { ada: { capabilities: { office: {} } } },
    })
    await expect(hub.callAs('ada', 'slow', { name: 'quick' })).rejects.toMatchObject({ code: 'DEFINITION_INVALID' })
  })
})
