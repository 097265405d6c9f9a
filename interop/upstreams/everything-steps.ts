import type { RequestOptions } from '@modelcontextprotocol/client'
import { expect, vi } from 'vitest'
import type { ScriptedClient } from './scripted-client.ts'

/** One thing that server-everything can do, asked of it by whoever is connected. */
export interface Step {
  readonly what: string
  /** Which of the things that the server lists it is about. */
  readonly about: string
  readonly method: string
  /** Whether the server says no to it. */
  readonly isRefused: boolean
  take(one: ScriptedClient): Promise<unknown>
}

const call = (tool: string, args: Record<string, unknown> = {}, what = tool): Step => ({
  what: `the tool ${what}`,
  about: `tool ${tool}`,
  method: 'tools/call',
  isRefused: false,
  take: ({ client, prefix }) => client.callTool({ name: prefix + tool, arguments: args }),
})

const prompt = (name: string, args?: Record<string, string>): Step => ({
  what: `the prompt ${name}`,
  about: `prompt ${name}`,
  method: 'prompts/get',
  isRefused: false,
  take: ({ client, prefix }) => client.getPrompt({ name: prefix + name, ...(args ? { arguments: args } : {}) }),
})

const read = (uri: string, about = uri): Step => ({
  what: `the resource ${uri}`,
  about,
  method: 'resources/read',
  isRefused: false,
  take: ({ client }) => client.readResource({ uri }),
})

/** A resource that the server has got since it started. */
const readNew = (uri: string): Step => ({
  ...read(uri),
  what: `the new resource ${uri}`,
  async take({ client }) {
    const uris = async () => (await client.listResources()).resources.map(resource => resource.uri)
    await vi.waitFor(async () => expect(await uris()).toContain(uri), { timeout: 300_000, interval: 100 })
    return client.readResource({ uri })
  },
})

const complete = (name: string, argument: { name: string; value: string }, others?: Record<string, string>): Step => ({
  what: `suggestions for ${argument.name} of ${name}, beginning with "${argument.value}"`,
  about: `prompt ${name}`,
  method: 'completion/complete',
  isRefused: false,
  take: ({ client, prefix }) =>
    client.complete({
      ref: { type: 'ref/prompt', name: prefix + name },
      argument,
      ...(others ? { context: { arguments: others } } : {}),
    }),
})

const completeUri = (uri: string, value: string): Step => ({
  what: `suggestions for ${uri}, beginning with "${value}"`,
  about: uri,
  method: 'completion/complete',
  isRefused: false,
  take: ({ client }) =>
    client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'resourceId', value } }),
})

const LINK = { url: 'https://example.com/a', message: 'Open this.', elicitationId: 'one' }
const ZIPPED = { name: 'hello.gz', data: 'data:text/plain,hello' }

/** Takes a while, and tells how far it is. */
export const LONG_RUN = {
  about: 'tool trigger-long-running-operation',
  method: 'tools/call',
  take: ({ client, prefix }: ScriptedClient, { seconds, ...options }: RequestOptions & { seconds: number }) =>
    client.callTool(
      {
        name: `${prefix}trigger-long-running-operation`,
        arguments: { duration: seconds, steps: 4 },
        _meta: { 'io.modelcontextprotocol/logLevel': 'debug' },
      },
      options,
    ),
}

/** Asks a question, and runs only as a task, as those were before 2026-07-28. */
export const RESEARCH = {
  about: 'tool simulate-research-query',
  arguments: { topic: 'python', ambiguous: true },
}

/** Refused the first time, with an address that a person has to visit. */
export const VISIT = call(
  'trigger-url-elicitation',
  { ...LINK, errorPath: true },
  'trigger-url-elicitation, after a visit',
)

/** Everything, each with an answer that is the same whenever it is asked. */
export const STEPS: readonly Step[] = [
  call('echo', { message: 'Grüße, 世界 🌍 \u0000"\\' }),
  call('get-annotated-message', { messageType: 'error', includeImage: true }, 'get-annotated-message, an error'),
  call('get-annotated-message', { messageType: 'success' }, 'get-annotated-message, a success'),
  call('get-annotated-message', { messageType: 'debug' }, 'get-annotated-message, for debugging'),
  call('get-env'),
  call('get-resource-links', { count: 10 }),
  call('get-resource-reference', { resourceType: 'Text', resourceId: 1 }, 'get-resource-reference, a text'),
  call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 }, 'get-resource-reference, a blob'),
  {
    ...call('get-resource-reference', { resourceType: 'Text', resourceId: -1 }, 'get-resource-reference, which fails'),
    isRefused: true,
  },
  call('get-roots-list'),
  call('get-structured-content', { location: 'Chicago' }),
  call('get-sum', { a: 0.1, b: 0.2 }),
  call('get-tiny-image'),
  call('gzip-file-as-resource', { ...ZIPPED, outputType: 'resource' }, 'gzip-file-as-resource, as a resource'),
  call('gzip-file-as-resource', { ...ZIPPED, outputType: 'resourceLink' }, 'gzip-file-as-resource, as a link'),
  call('toggle-simulated-logging', {}, 'toggle-simulated-logging, on'),
  call('toggle-simulated-logging', {}, 'toggle-simulated-logging, off'),
  call('toggle-subscriber-updates', {}, 'toggle-subscriber-updates, on'),
  call('toggle-subscriber-updates', {}, 'toggle-subscriber-updates, off'),
  call('trigger-elicitation-request'),
  call('trigger-sampling-request', { prompt: 'Say something.', maxTokens: 10 }),
  call('trigger-url-elicitation', LINK),
  prompt('simple-prompt'),
  prompt('args-prompt', { city: 'Chicago' }),
  prompt('args-prompt', { city: 'Chicago', state: 'Illinois' }),
  prompt('completable-prompt', { department: 'Sales', name: 'Eve' }),
  prompt('resource-prompt', { resourceType: 'Text', resourceId: '3' }),
  prompt('resource-prompt', { resourceType: 'Blob', resourceId: '4' }),
  complete('completable-prompt', { name: 'department', value: 'S' }),
  complete('completable-prompt', { name: 'name', value: '' }, { department: 'Engineering' }),
  complete('resource-prompt', { name: 'resourceType', value: 'B' }),
  complete('resource-prompt', { name: 'resourceId', value: 'none' }),
  completeUri('demo://resource/dynamic/text/{resourceId}', '12'),
  completeUri('demo://resource/dynamic/blob/{resourceId}', 'x'),
  read('demo://resource/dynamic/text/5', 'demo://resource/dynamic/text/{resourceId}'),
  read('demo://resource/dynamic/blob/6', 'demo://resource/dynamic/blob/{resourceId}'),
  readNew('demo://resource/session/hello.gz'),
  ...['architecture', 'extension', 'features', 'how-it-works', 'instructions', 'startup', 'structure'].map(name =>
    read(`demo://resource/static/document/${name}.md`),
  ),
]
