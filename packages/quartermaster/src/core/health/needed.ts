import type { Generation } from '../catalogue/index.ts'

/** The dependencies whose absence disables something: what is required, and all that this depends on. */
export function neededDependencies(generation: Generation): ReadonlySet<string> {
  const needed = new Set<string>()
  const add = (name: string) => {
    if (needed.has(name)) return
    needed.add(name)
    generation.dependencies.get(name)?.dependsOn.forEach(add)
  }
  for (const { requires } of needing(generation)) requires.forEach(add)
  return needed
}

function needing({ tools, injections, capabilities }: Generation) {
  const bundles = [...capabilities.values()]
  return [
    ...tools.values(),
    ...injections.flatMap(injection => injection.tools),
    // Not those of the generation: it has one of several that share an address, and each agent may have another.
    ...bundles.flatMap(({ prompts, resources }) => [...prompts, ...resources]),
  ]
}
