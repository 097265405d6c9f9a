/** The type that a JSON Schema literal describes, for the keywords people write by hand. Anything else is `unknown`. */
export type FromJsonSchema<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'null' }
            ? null
            : S extends { type: 'array'; items: infer I }
              ? FromJsonSchema<I>[]
              : S extends { type: 'array' }
                ? unknown[]
                : S extends { type: 'object' }
                  ? ObjectFrom<S>
                  : unknown

type ObjectFrom<S> = S extends { properties: infer P extends Record<string, unknown> }
  ? Simplify<
      { [K in keyof P as K extends RequiredOf<S> ? K : never]: FromJsonSchema<P[K]> } & {
        [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromJsonSchema<P[K]>
      }
    >
  : Record<string, unknown>

type RequiredOf<S> = S extends { required: readonly (infer R)[] } ? R : never
type Simplify<T> = { [K in keyof T]: T[K] } & {}
