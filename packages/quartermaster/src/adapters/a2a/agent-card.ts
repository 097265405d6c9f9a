import type { Skill, WorkspaceRow } from '../../contracts/index.ts'
import { type CardParts, cardOf } from '../../core/organisation/index.ts'

/** The version of the protocol that is spoken here. */
export const A2A_VERSION = '1.0'

/** What clients are told of a workspace (§4.4.1). They reach it here, wherever it says that it is itself. */
export function agentCard(workspace: WorkspaceRow, parts: CardParts): object {
  const { name, description, version, skills } = cardOf(workspace, parts)
  const place = { url: parts.url, protocolVersion: A2A_VERSION }
  return {
    name,
    description,
    version,
    supportedInterfaces: [
      { ...place, protocolBinding: 'JSONRPC' },
      { ...place, protocolBinding: 'HTTP+JSON' },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: { scheme: 'Bearer', description: 'The token of a workspace that reaches this one.' },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: (skills.length > 0 ? skills : [tasks(name, description)]).map(skill => ({
      ...skill,
      tags: skill.tags ?? [],
    })),
  }
}

/** A card has at least one skill (§4.4.1). Whoever has no tools of its own can still be given tasks. */
function tasks(name: string, description: string): Skill {
  return { id: 'tasks', name: `Tasks for ${name}`, description, tags: ['tasks'] }
}

const MODES = ['text/plain', 'application/json']
