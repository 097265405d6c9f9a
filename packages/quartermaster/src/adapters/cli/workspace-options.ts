import { InvalidArgumentError, Option } from 'commander'
import { Ability, DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'

/** Which organisation is meant. */
export function organisationOption(): Option {
  return new Option('--organisation <NAME>', 'in this organisation instead of the first one')
}

/** What `--organisation` leads to. */
export interface Within {
  organisation?: string | undefined
}

/** Of all that was said, which organisation is meant. */
export function withinOf({ organisation }: Within): { organisation?: string } {
  return organisation === undefined ? {} : { organisation }
}

/** The option once more, for a command that is told to go on with. */
export function againWithin(organisation: string | undefined): string {
  return organisation === undefined || organisation === DEFAULT_ORGANISATION ? '' : ` --organisation ${organisation}`
}

/** A workspace by its name; with the organisation where that is not the first. */
export function fullName(organisation: string | undefined, name: string): string {
  return organisation === undefined || organisation === DEFAULT_ORGANISATION ? name : `${organisation}/${name}`
}

/** The workspace that it is below. */
export function parentOption(): Option {
  return new Option('--parent <WORKSPACE>', 'below this one, by its id or name; below the root without')
}

/** A right beyond tools; may be said several times. */
export function abilityOption(): Option {
  const names = Ability.options.join(', ')
  return new Option('--ability <NAME>', `a right beyond tools, once for each: ${names}`).argParser(addAbility)
}

function addAbility(text: string, before: readonly Ability[] | undefined): Ability[] {
  const parsed = Ability.safeParse(text)
  if (!parsed.success)
    throw new InvalidArgumentError(`There are ${Ability.options.join(', ')}.${didYouMean(text, Ability.options)}`)
  return [...new Set([...(before ?? []), parsed.data])]
}
