import type { IssuedToken } from '../../contracts/index.ts'
import type { Handlers } from './desk-handlers.ts'
import type { Organisation } from './organisation.ts'

type Operation =
  | 'listPersons'
  | 'createPerson'
  | 'createPersonToken'
  | 'removePerson'
  | 'listJoinCodes'
  | 'createJoinCode'
  | 'revokeJoinCode'
  | 'join'

export function accountHandlers({ persons, joinCodes, factsOf }: Organisation): Handlers<Operation> {
  return {
    listPersons: async ({ organisation }) => ({ persons: await persons.list(organisation) }),
    async createPerson({ organisation }, { body }) {
      const { person, issued } = await persons.create(organisation, body)
      return { person, ...flat(issued) }
    },
    createPersonToken: ({ organisation }, { params, body }) => persons.issue(organisation, params.name, body),
    removePerson: ({ organisation }, { params }) => persons.remove(organisation, params.name),
    listJoinCodes: async ({ organisation }) => ({ joinCodes: await joinCodes.list(organisation) }),
    createJoinCode: ({ organisation }, { body }) => joinCodes.create(organisation, body),
    revokeJoinCode: ({ organisation }, { params }) => joinCodes.revoke(organisation, params.id),
    async join(_, { body }) {
      const { workspace, issued } = await joinCodes.redeem(body)
      return { workspace: await factsOf(workspace), ...flat(issued) }
    },
  }
}

function flat({ token, facts }: IssuedToken) {
  return { token, tokenFacts: facts }
}
