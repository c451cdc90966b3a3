import { z } from "zod";

import type { LabelRow } from "../../../projections/label/label.ts";

export const LabelView = z
  .object({
    id: z.uuid(),
    hexColor: z.string(),
    title: z.string(),
    description: z.string(),
    isTextLight: z.boolean().meta({ description: "White text is readable on it; else black is." }),
  })
  .meta({ id: "Label" });

export function labelView(row: LabelRow): z.input<typeof LabelView> {
  return {
    id: row.id,
    hexColor: row.hex_color,
    title: row.title,
    description: row.description ?? "",
    isTextLight: isTextLight(row.hex_color),
  };
}

/** Whether white has the higher contrast on a colour `#rrggbb` (WCAG 2.2, contrast ratio). */
export function isTextLight(hexColor: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => linear(hexColor.slice(at, at + 2)));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const contrastWithWhite = 1.05 / (luminance + 0.05);
  const contrastWithBlack = (luminance + 0.05) / 0.05;
  return contrastWithWhite >= contrastWithBlack;
}

function linear(hex: string): number {
  const part = Number.parseInt(hex, 16) / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}
