import { anyOf } from './phrase.ts'

/** What one is not to do. */
export const NOT = anyOf(
  ...['do not', 'dont', 'never', 'must not', 'mustnt', 'should not', 'shouldnt', 'shall not', 'not to', 'avoid'],
  ...['refrain from', 'no need to', 'not necessary to', 'no reason to'],
)
/** "Do not proceed without telling the user" says the opposite. */
export const WORDS = '(?:(?!without|until|unless|before|if )[\\w-]{1,30} ){0,2}?'
const PEOPLE = anyOf(
  'users?',
  'humans?',
  'person',
  'people',
  'operators?',
  'customers?',
  'owner',
  'anyone',
  'anybody',
  'them',
)
export const USER = `(?:(?:the|your|any|this|our|its) )?(?:end )?${PEOPLE}`
export const NEEDS = ['user', 'human', 'person', 'people', 'operator', 'customer', 'owner', 'any', 'them']

/** Whose id or number it is. */
export const KIND = anyOf(
  ...['raw', 'internal', 'numeric', 'technical', 'opaque', 'long', 'full', 'exact', 'underlying', 'database', 'record'],
  ...[
    'row',
    'object',
    'item',
    'message',
    'channel',
    'issue',
    'ticket',
    'order',
    'request',
    'user',
    'document',
    'session',
  ],
)

export const HIDE = {
  rule: 'instruction',
  family: 'conceal',
  strength: 'strong',
  message: 'It tells the model to keep something from the user.',
} as const
