import { InvalidArgumentError, Option } from 'commander'
import { Ability } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'

/** Which organisation is meant. */
export function organisationOption(): Option {
  return new Option('--organisation <NAME>', 'in this organisation instead of the first one')
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
