import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type RunningProduct, startWithUpstreams } from '../support/running-product.ts'
import { withoutAdditions, withoutWrapping } from './comparison.ts'
import { LONG_RUN, STEPS, type Step, VISIT } from './everything-steps.ts'
import { npmServer } from './npm-servers.ts'
import { connectDirectly, connectThrough, type ScriptedClient } from './scripted-client.ts'
import type { Answer } from './wire-tap.ts'

const PREFIX = 'everything_'
const SERVER = npmServer('everything')
const DOCUMENT = 'demo://resource/static/document/features.md'

// It remembers what it was told and gets new resources while it runs, so each era has one of its own.
describe.each(['legacy', 'modern'] as const)('server-everything behind, a %s client in front', era => {
  let product: RunningProduct
  let through: ScriptedClient
  let directly: ScriptedClient

  beforeAll(async () => {
    product = await startWithUpstreams({ everything: { ...SERVER, newTools: 'offer' } })
    await product.reaches('everything')
    const { token } = await product.issue('default')
    through = await connectThrough({ mcpUrl: product.mcpUrl, token, era, prefix: PREFIX })
    directly = await connectDirectly({ ...SERVER, env: await environmentOf(through), cwd: product.folder })
  })
  afterAll(async () => {
    await directly?.close()
    await through?.close()
    await product?.stop()
  })

  const answers = async (step: Step) => {
    const [expected, answer] = [await answerOf(directly, step), await answerOf(through, step)]
    return { expected, answer: withoutAdditions(answer, era) }
  }

  it.each(STEPS)('answers the same as without a gateway: $what', async step => {
    const { expected, answer } = await answers(step)
    expect(answer).toEqual(expected)
    expect(JSON.stringify(answer)).toBe(JSON.stringify(expected))
  })

  it('asks the same', () => {
    expect(directly.questions.length).toBeGreaterThan(2)
    expect(through.questions.map(withoutWrapping)).toEqual(directly.questions.map(withoutWrapping))
  })

  it('tells the same progress', async () => {
    const told = async (one: ScriptedClient) => {
      const steps: unknown[] = []
      await LONG_RUN.take(one, step => steps.push(step))
      return { steps, answer: withoutAdditions(one.last(), era) }
    }
    expect(await told(through)).toEqual(await told(directly))
  })

  it('sends a person to an address by itself where the server refuses a call until then', async () => {
    await expect(VISIT.take(directly)).rejects.toThrow()
    const { expected, answer } = await answers(VISIT)
    expect(JSON.stringify(answer)).toBe(JSON.stringify(expected))
  })

  it('runs a tool that the server only runs as a task, for clients that know nothing of that', async () => {
    const research = { name: 'simulate-research-query', arguments: { topic: 'tea' } }
    expect(await directly.client.callTool(research)).toMatchObject({ isError: true })
    const { content, isError } = await through.client.callTool({ ...research, name: `${PREFIX}${research.name}` })
    expect(isError).toBeFalsy()
    expect(JSON.stringify(content)).toContain('tea')
  })

  it('tells of resources that changed', async () => {
    for (const one of [directly, through]) {
      await watch(one, era === 'modern' && one === through)
      await one.client.callTool({ name: `${one.prefix}toggle-subscriber-updates`, arguments: {} })
      await vi.waitFor(() => expect(one.updates).toContain(DOCUMENT), { timeout: 20_000 })
    }
  })

  it('lists all that the server has, as the server describes it', async () => {
    const [expected, listed] = [await definitionsOf(directly), await definitionsOf(through)]
    expect([...listed.keys()]).toEqual([...expected.keys()])
    for (const [name, definition] of expected) expect(listed.get(name)).toMatchObject(definition)
  })
})

/** What the program gets from the gateway, so that another one can be started with the same. */
async function environmentOf(through: ScriptedClient): Promise<Record<string, string>> {
  const { content } = await through.client.callTool({ name: `${PREFIX}get-env`, arguments: {} })
  return JSON.parse((content as { text: string }[])[0]?.text ?? '')
}

async function answerOf(one: ScriptedClient, { take }: Step): Promise<Answer> {
  // What was refused stands in the answer as well.
  await take(one).catch(() => {})
  return one.last()
}

async function watch({ client }: ScriptedClient, isModern: boolean): Promise<void> {
  if (isModern) await client.listen({ resourceSubscriptions: [DOCUMENT] })
  else await client.subscribeResource({ uri: DOCUMENT })
}

/** By kind and the name that the server gave, in their order. What the gateway has of its own is left out. */
async function definitionsOf({ client, prefix }: ScriptedClient): Promise<Map<string, object>> {
  const own = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)
  const { tools } = await client.listTools()
  const { prompts } = await client.listPrompts()
  const { resources } = await client.listResources()
  const { resourceTemplates } = await client.listResourceTemplates()
  const all = [
    // Tasks as they were before 2026-07-28 end at the gateway, which has its own.
    ...tools.map(({ execution: _execution, ...tool }) => [`tool ${own(tool.name)}`, { ...tool, name: own(tool.name) }]),
    ...prompts.map(prompt => [`prompt ${own(prompt.name)}`, { ...prompt, name: own(prompt.name) }]),
    ...resources.map(resource => [resource.uri, resource]),
    ...resourceTemplates.map(template => [template.uriTemplate, template]),
  ] as [string, object][]
  const theirs = all.filter(([name]) => !name.startsWith('quartermaster://'))
  return new Map(theirs.sort(([a], [b]) => (a < b ? -1 : 1)))
}
