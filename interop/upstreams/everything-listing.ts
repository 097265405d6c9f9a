import { expect } from 'vitest'
import { itemsOf, membersOf } from '../../packages/quartermaster/test/support/json-slices.ts'
import type { ScriptedClient } from './scripted-client.ts'

/** What is listed of one thing that a server has. */
export interface Listed {
  /** The name that the server gave it, with its kind, or its address. */
  readonly name: string
  readonly definition: Record<string, unknown>
  /** Its schemas as they are spelled. */
  readonly schemas: readonly (string | undefined)[]
}

const LISTS = {
  'tools/list': { key: 'tools', named: 'tool ' },
  'prompts/list': { key: 'prompts', named: 'prompt ' },
  'resources/list': { key: 'resources', named: '' },
  'resources/templates/list': { key: 'resourceTemplates', named: '' },
} as const

/** All that is listed, in the order of its names. What the gateway has of its own is left out. */
export async function listingOf({ client, prefix, resultOf }: ScriptedClient): Promise<Listed[]> {
  await Promise.all([client.listTools(), client.listPrompts(), client.listResources(), client.listResourceTemplates()])
  const listed = Object.entries(LISTS).flatMap(([method, { key, named }]) =>
    itemsOf(membersOf(resultOf(method)).get(key) ?? '').map(text => listedAs(text, { prefix, named })),
  )
  return listed.filter(({ name }) => !name.startsWith('quartermaster://')).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function listedAs(text: string, { prefix, named }: { prefix: string; named: string }): Listed {
  const definition = JSON.parse(text) as Record<string, unknown>
  const members = membersOf(text)
  const schemas = [members.get('inputSchema'), members.get('outputSchema')]
  const { uri, uriTemplate = uri, name } = definition
  if (named === '') return { name: String(uriTemplate), definition, schemas }
  const own = String(name).replace(new RegExp(`^${prefix}`), '')
  return { name: `${named}${own}`, definition: { ...definition, name: own }, schemas }
}

/** The same as the gateway lists it. */
export function asListed({ name, definition, schemas }: Listed): Listed {
  // Tasks as they were before 2026-07-28 end at the gateway, which has its own.
  const { execution: _execution, ...rest } = definition
  return { name, definition: { ...rest, ...additionTo(rest, name) }, schemas }
}

function additionTo(definition: Record<string, unknown>, name: string): Record<string, unknown> {
  // Clients from before there were titles of tools look for it there.
  if (name.startsWith('tool '))
    return { annotations: { ...(definition.annotations as object), title: definition.title } }
  if (name.startsWith('prompt ')) return { arguments: [], ...definition }
  // One that is made of its name, where the server has none.
  return { title: expect.any(String), ...definition }
}
