import { setImmediate } from 'node:timers/promises'
import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../contracts/index.ts'
import type { Skill } from '../../core/knowledge/index.ts'
import { orProtocolError } from './errors.ts'
import { isModern } from './mcp-request.ts'
import { LIST_HINT, pageOf } from './page.ts'
import { type Shelf, skillsOn, versionsOf } from './shelf.ts'

/** What a server says that has skills (SEP-2640). Ours have one file each, so there are no folders to read. */
export const SKILLS_CAPABILITY = { 'io.modelcontextprotocol/skills': {} }

const ListParams = z.looseObject({ cursor: z.string().optional() })
const GetParams = z.looseObject({ uri: z.string() })
const anything = z.looseObject({})

/** The skills extension: what directions a shelf has, and by which digest their text is known. The text is a resource. */
export function serveSkills(server: Server, shelf: Shelf): void {
  server.setRequestHandler('skills/list', { params: ListParams, result: anything }, async ({ cursor }, context) => {
    const page = () => pageOf(skillsOn(shelf), versionsOf(shelf).resources, cursor)
    const { items, nextCursor } = orProtocolError(page)
    const skills = []
    for (const item of items) {
      skills.push(toSkill(item))
      // To measure one, its text is put together: others have their turn between two of them.
      await setImmediate()
    }
    return { skills, ...(nextCursor === undefined ? {} : { nextCursor }), ...hintFor(context) }
  })
  server.setRequestHandler('skills/get', { params: GetParams, result: anything }, ({ uri }, context) => {
    const skill = orProtocolError(() => find(shelf, uri))
    return { skill: toSkill(skill), ...hintFor(context) }
  })
}

function find(shelf: Shelf, uri: string): Skill {
  const found = skillsOn(shelf).find(skill => skill.uri === uri)
  if (found) return found
  throw new AppError('RESOURCE_NOT_FOUND', `"${shelf.name}" has no skill at "${uri}".`, { details: { uri } })
}

/** Answers say so only where the protocol knows of it. */
function hintFor(context: ServerContext): object {
  return isModern(context) ? LIST_HINT : {}
}

function toSkill({ uri, frontmatter, measure }: Skill) {
  const { sha256, bytes } = measure()
  return { uri, frontmatter, resources: [{ uri, digest: `sha256:${sha256}`, size: bytes }] }
}
